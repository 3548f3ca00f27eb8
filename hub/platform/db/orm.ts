import { createRequire } from 'node:module';
import type * as orm from 'drizzle-orm';
import type * as migrator from 'drizzle-orm/migrator';
import type * as nodePostgres from 'drizzle-orm/node-postgres';
import type * as core from 'drizzle-orm/pg-core';

export type { SQL } from 'drizzle-orm';
export type { MigrationMeta } from 'drizzle-orm/migrator';
export type { NodePgDatabase } from 'drizzle-orm/node-postgres';

/**
 * The query builder, as the hub imports it: by `require`. For every ES module, and for every import that names a package, Node.js parses the
 * `exports` of its package.json anew; those of this one are 179 kB, and it has hundreds of modules. That took more than half of the time and
 * of the memory in which a hub started.
 */
const require = createRequire(import.meta.url);

export const { and, asc, desc, eq, getTableColumns, gt, gte, inArray, isNotNull, isNull, lt, lte, or, sql } =
  require('drizzle-orm') as typeof orm;
export const {
  bigint,
  bigserial,
  boolean,
  customType,
  date,
  doublePrecision,
  foreignKey,
  index,
  integer,
  pgPolicy,
  pgRole,
  pgTable,
  primaryKey,
  text,
  timestamp,
  unique,
  uniqueIndex,
  uuid,
} = require('drizzle-orm/pg-core') as typeof core;
export const { drizzle } = require('drizzle-orm/node-postgres') as typeof nodePostgres;
export const { readMigrationFiles } = require('drizzle-orm/migrator') as typeof migrator;
