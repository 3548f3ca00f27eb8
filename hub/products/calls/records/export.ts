import { csvHead } from './call-lines.ts';
import type { ExportFormat } from './call-lines.ts';

/** The text of an export, out of those of its pages. */
export async function* exportText(format: ExportFormat, pages: AsyncIterable<string>): AsyncGenerator<string> {
  if (format === 'csv') {
    yield csvHead;
    yield* pages;
    return;
  }
  let before = '[';
  for await (const page of pages) {
    yield before;
    yield page;
    before = ',\n';
  }
  yield before === '[' ? '[]\n' : ']\n';
}
