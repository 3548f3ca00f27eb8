import type { ReactNode } from 'react';
import { ApiError } from '../../../../shared/client/client.ts';
import { useLanguage } from '../app/language.tsx';
import { PropertyFields } from './schema-field.tsx';
import { checkValue, messagesByField } from './schema.ts';
import type { JsonRecord, JsonSchema, Messages } from './schema.ts';

/** Checks a value before it is sent, with messages in the language of the page. */
export function useSchemaCheck(): (schema: JsonSchema, value: unknown) => Messages {
  const { words, format } = useLanguage();
  return (schema, value) =>
    messagesByField(
      schema,
      value,
      checkValue(schema, value).map(({ path, kind, limit }) => ({
        path,
        message: kind === 'required' ? words.common.required : format(words.forms.problems[kind], { limit }),
      })),
    );
}

/** The messages of an API error at the fields of a form. `root` is the path of the value in the request. */
export function messagesOfError(error: unknown, root: string, schema: JsonSchema, value: unknown): Messages {
  if (!(error instanceof ApiError)) return {};
  return messagesByField(
    schema,
    value,
    error.details
      .filter(({ path }) => path === root || path.startsWith(`${root}.`) || path.startsWith(`${root}[`))
      .map(({ path, message }) => ({ path: path.slice(root.length + 1), message })),
  );
}

/** A form for an object of a JSON Schema. `children` are its buttons. */
export function SchemaForm({
  schema,
  value,
  onChange,
  onSubmit,
  messages,
  advanced,
  children,
}: {
  schema: JsonSchema;
  value: JsonRecord;
  onChange: (value: JsonRecord) => void;
  onSubmit: () => void;
  messages: Messages;
  /** Optional properties that few people need. */
  advanced?: readonly string[];
  children: ReactNode;
}) {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      <PropertyFields
        schema={schema}
        value={value}
        onChange={(changed) => onChange(changed as JsonRecord)}
        path=""
        messages={messages}
        {...(advanced === undefined ? {} : { advanced })}
      />
      {messages[''] !== undefined && (
        <p role="alert" className="mb-3 text-sm text-danger">
          {messages['']}
        </p>
      )}
      {children}
    </form>
  );
}
