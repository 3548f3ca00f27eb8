import { ArrowRight } from 'lucide-react';
import type { JsonObject, JsonValue } from '../../../../../../shared/client/operations.ts';
import { visibleLine } from '../../../../../../shared/visible-text.ts';
import { useWords } from '../../../app/language.tsx';

/** The old and the new value of a field; without a name for an entry that is about one field only. */
export interface Change {
  name: string | null;
  from: JsonValue;
  to: JsonValue;
}

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The changes in the details of an entry: `changes` with an object for each field, or `from` and `to` of one field. */
export function changesOf({ changes, from, to }: JsonObject): Change[] {
  if (isObject(changes))
    return Object.entries(changes).flatMap(([name, change]) =>
      isObject(change) ? [{ name, from: change['from'] ?? null, to: change['to'] ?? null }] : [],
    );
  return from === undefined || to === undefined ? [] : [{ name: null, from, to }];
}

/** Longer values are whole in the JSON only. */
const shownCharacters = 120;

/** The text of a value, or null for an empty one. */
function textOf(value: JsonValue): string | null {
  const isList = Array.isArray(value) && value.every((item) => typeof item === 'string');
  const plain = isList ? value.join(', ') : value;
  if (plain === null || plain === '') return null;
  const text = visibleLine(typeof plain === 'string' ? plain : JSON.stringify(plain));
  return text.length > shownCharacters ? `${text.slice(0, shownCharacters)}…` : text;
}

/** What an entry changed, a line for each field. */
export function Changes({ changes }: { changes: readonly Change[] }) {
  const { common, settings } = useWords();
  const { before, after } = settings.audit;
  return (
    <ul className="mt-0.5 flex flex-col gap-0.5 text-sm">
      {changes.map(({ name, from, to }) => (
        <li key={name} className="flex flex-wrap items-baseline gap-x-1.5">
          {name !== null && <code className="wrap-anywhere text-text-muted">{visibleLine(name)}</code>}
          <span className="sr-only">{before}:</span>
          <bdi className={`min-w-0 wrap-anywhere text-text-muted ${textOf(from) === null ? '' : 'line-through'}`}>
            {textOf(from) ?? common.none}
          </bdi>
          <ArrowRight size={13} aria-hidden className="shrink-0 self-center rtl:rotate-180" />
          <span className="sr-only">{after}:</span>
          <bdi className="min-w-0 wrap-anywhere">{textOf(to) ?? common.none}</bdi>
        </li>
      ))}
    </ul>
  );
}
