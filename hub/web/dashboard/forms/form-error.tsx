import { ApiError } from '../../../../shared/client/client.ts';
import { ErrorNote } from '../ui/error.tsx';
import { isWithin } from './field-errors.ts';

/** Why the hub refused a form. Problems that the form shows beside these fields are only announced. */
export function FormError({ error, fields }: { error: unknown; fields: readonly string[] }) {
  const details = error instanceof ApiError ? error.details : [];
  const isMarked = details.length > 0 && details.every(({ path }) => fields.some((field) => isWithin(path, field)));
  if (!isMarked) return <ErrorNote error={error} />;
  return (
    <p role="alert" className="sr-only">
      {details.map(({ path, message }) => `${path.replace(/^body\./, '')} ${message}.`).join(' ')}
    </p>
  );
}
