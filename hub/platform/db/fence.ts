/** Random bits of a fence in a `bigint` column that JavaScript reads as text. */
export const fenceBits = 20;
/** Random bits of a fence that JavaScript reads as a number: its values stay below 2^53 until the year 2109. */
export const numberFenceBits = 11;

/**
 * The next value of a fence column, as SQL. It is larger than the present value, and differs from every value that was ever read from the column, also
 * when PostgreSQL lost the commit that wrote that value: in a crash with asynchronous commit, or in a failover to an asynchronous standby.
 * The high bits are the time in milliseconds, by the clock of the database. The low bits are random: they tell two values apart while the clock
 * of the database is behind the column, because the clock was set back.
 * @param column the name of the column, of a row that the statement has locked.
 */
export const nextFence = (column: string, randomBits: number = fenceBits): string =>
  `(greatest(${column}, (extract(epoch FROM clock_timestamp()) * 1000)::bigint << ${randomBits}) + 1 + floor(random() * ${2 ** randomBits})::bigint)`;
