import type { ObjectSchema } from '../../../../../shared/inputs-schema.ts';
import { visibleLine } from '../../../../../shared/visible-text.ts';
import { useLanguage } from '../../app/language.tsx';

/** The inputs of a workflow or a pack, with their types. */
export function InputsList({ inputs, empty }: { inputs: ObjectSchema | null; empty: string }) {
  const { optional } = useLanguage().words.common;
  const properties = Object.entries(inputs?.properties ?? {});
  if (properties.length === 0) return <p className="text-sm text-text-muted">{empty}</p>;
  const required = new Set(inputs?.required);
  return (
    <ul className="flex flex-col gap-1 text-sm">
      {properties.map(([name, { type, title, description }]) => (
        <li key={name} className="wrap-anywhere">
          <code>{visibleLine(name)}</code>{' '}
          <span className="text-text-muted">
            {type}
            {!required.has(name) && `, ${optional}`}
            {(description ?? title) !== undefined && ` · ${visibleLine(description ?? title ?? '')}`}
          </span>
        </li>
      ))}
    </ul>
  );
}
