import { writeFileSync } from 'node:fs';
import { clientTypes } from './client-types.ts';
import { openApiDocument } from './document.ts';

const width = 120;

/** Formats JSON with short values on one line. */
function format(value: unknown, indent: string, before: number): string {
  const line = JSON.stringify(value, null, 1).replaceAll(/\n\s*/g, ' ');
  if (typeof value !== 'object' || value === null || indent.length + before + line.length <= width) return line;
  const inner = `${indent} `;
  const items = Array.isArray(value)
    ? value.map((item) => `${inner}${format(item, inner, 1)}`)
    : Object.entries(value).flatMap(([key, item]) =>
        item === undefined ? [] : [`${inner}${JSON.stringify(key)}: ${format(item, inner, key.length + 5)}`],
      );
  return Array.isArray(value) ? `[\n${items.join(',\n')}\n${indent}]` : `{\n${items.join(',\n')}\n${indent}}`;
}

/**
 * Writes the OpenAPI document and the client types. A test fails while the committed files differ from the contract.
 */
writeFileSync(new URL('openapi.json', import.meta.url), `${format(openApiDocument(), '', 0)}\n`);
writeFileSync(new URL('../../../../shared/client/operations.ts', import.meta.url), clientTypes());
