import { z } from 'zod';
import { isStorableText } from '../json.ts';
import { hasVisibleCharacter } from '../visible-text.ts';

/** Schemas that several resources share. */

export const id = z.uuid('must be a UUID');
export const timestamp = z.iso.datetime({ precision: 3 }).describe('ISO 8601, UTC, with milliseconds');

/**
 * Whether a time, in milliseconds since 1970, can be stored. UUIDv7 ids cannot represent earlier times; JSON dates and
 * the database do not accept years of five digits.
 */
export const isUsableInstant = (at: number) => at >= 0 && at < Date.UTC(10_000, 0);

/** A time in a request, with any ISO 8601 offset. */
export const instant = z.iso
  .datetime({ offset: true, error: 'must be an ISO 8601 time, such as 2026-01-31T09:00:00Z' })
  .refine(
    (text) => Number.isNaN(Date.parse(text)) || isUsableInstant(Date.parse(text)),
    'must be in the years 1970 to 9999, in UTC',
  );

/** A day in a response. */
export const day = z.iso.date('must be a day, such as 2026-01-31').describe('Day in UTC, `YYYY-MM-DD`');

/** A day in a request. */
export const usableDay = day.refine(
  (text) => Number.isNaN(Date.parse(text)) || isUsableInstant(Date.parse(text)),
  'must be in the years 1970 to 9999',
);

/** Text that the database can store. The length limits are in UTF-16 code units. */
export const text = (minLength: number, maxLength: number) =>
  z
    .string()
    .min(minLength, minLength === 1 ? 'must not be empty' : `must have at least ${minLength} characters`)
    .max(maxLength, `must have at most ${maxLength} characters`)
    .refine(isStorableText, 'must not contain a NUL character or an unpaired surrogate');

/** Whether a name can be seen in a list. Texts that have an error message of their own pass. */
export const isVisibleName = (given: string): boolean =>
  given === '' || !isStorableText(given) || hasVisibleCharacter(given);
export const invisibleName = 'must have at least one visible character, such as a letter or a digit';

export const name = text(1, 200).refine(isVisibleName, invisibleName);

/** Path of a member's picture, relative to the URL of the hub. Each new picture has a new id. */
export const picturePath = (pictureId: string): string => `/widget/v1/pictures/${pictureId}`;
export const memberPicture = z
  .string()
  .nullable()
  .describe(
    'Path of the picture, relative to the URL of this hub; requires no credentials. Null without a picture. A new picture has a new path.',
  );

export const idParams = z.strictObject({ id });

/** Query parameters of every list: `limit` rows per page, newest first. */
export const listQuery = z.strictObject({
  limit: z.coerce
    .number('must be a whole number from 1 to 100')
    .int('must be a whole number from 1 to 100')
    .min(1, 'must be from 1 to 100')
    .max(100, 'must be from 1 to 100')
    .default(50)
    .describe('Maximum number of items in the response'),
  cursor: text(1, 500).describe('`meta.nextCursor` of the previous page').optional(),
});

/** Sets the name of a schema in the OpenAPI document and in generated clients. */
export const named = <Schema extends z.ZodType>(
  schemaName: string,
  schema: Schema,
  example?: z.input<Schema>,
): Schema => schema.meta({ id: schemaName, ...(example === undefined ? {} : { example }) });

/** The name of a schema; undefined without one. */
export const nameOf = (schema: z.ZodType): string | undefined => z.globalRegistry.get(schema)?.id;

export const pageMeta = named(
  'PageMeta',
  z
    .object({
      limit: z.int().describe('Rows per page that this request used, 1 to 100'),
      nextCursor: z.string().nullable().describe('Send it as `cursor` to read the next page; null on the last page'),
    })
    .describe('Position of this page in the list'),
);
const pages = new WeakMap<z.ZodType, z.ZodType>();

/** Schema of a page of rows. The schema for each row schema is created once. */
export function page<Row extends z.ZodType>(row: Row) {
  const make = () =>
    z.object({ data: z.array(row).describe('Rows of this page, at most `meta.limit`'), meta: pageMeta });
  const known = pages.get(row) as ReturnType<typeof make> | undefined;
  if (known !== undefined) return known;
  const rowName = nameOf(row);
  const made = rowName === undefined ? make() : named(`${rowName}Page`, make());
  pages.set(row, made);
  return made;
}

export const deleted = named(
  'Deleted',
  z.object({
    id: id.describe('Id of the deleted resource'),
    deleted: z.literal(true).describe('Always true; a failure is an error response'),
  }),
);

export const errorBody = named(
  'Error',
  z.object({
    statusCode: z.int().describe('HTTP status, 400 to 599'),
    error: z.string().describe('Reason phrase of the status'),
    message: z.string().describe('Human-readable message: what is wrong and what to do'),
    requestId: z.string().describe('Id of the request, as in `X-Request-ID` and in the log of the hub'),
    code: z.string().describe('Stable error code, for programs'),
    runId: z.string().optional().describe('Id of the failed run, if the run is stored'),
    assignedUserId: z
      .uuid()
      .nullable()
      .optional()
      .describe('With `assignment_conflict`: user to whom the conversation is assigned now; null for none'),
    details: z
      .array(
        z.object({
          path: z.string().describe('Location of the field, such as `body.steps[0].input`'),
          message: z.string().describe('What the field must be'),
        }),
      )
      .optional()
      .describe('One entry for each invalid field; missing for errors without a field'),
  }),
);

/** Start of the error message for an unknown field. */
export const unknownField = 'is not known here';

/**
 * Error option of `z.strictObject` that suggests the correct name of a field.
 * @param fields correct name by wrong name.
 */
export const confusedFields = (fields: Record<string, string>) => ({
  error: ({ code, keys = [] }: { code?: string; keys?: string[] }): string | undefined => {
    const advice = keys.filter((key) => Object.hasOwn(fields, key)).map((key) => `use ${fields[key]} for ${key}`);
    return code === 'unrecognized_keys' && advice.length > 0 ? `${unknownField}; ${advice.join(', ')}` : undefined;
  },
});
