import { useLanguage } from '../app/language.tsx';
import type { JsonSchema, Messages } from './schema.ts';

export interface SchemaFieldProps {
  schema: JsonSchema;
  /** Undefined for an optional field that is not set. */
  value: unknown;
  onChange: (value: unknown) => void;
  path: string;
  label: string;
  isRequired: boolean;
  messages: Messages;
  /** Whether a text is edited in one line, as in lists. */
  isLine?: boolean;
}

/** `timeoutMs` becomes `Timeout ms`. */
function readable(name: string): string {
  const words = name.replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The label of a property: of the texts of forms, else its name. */
export function useLabels(): (name: string) => string {
  const labels: Readonly<Record<string, string>> = useLanguage().words.forms.labels;
  return (name) => (Object.hasOwn(labels, name) ? (labels[name] as string) : readable(name));
}
