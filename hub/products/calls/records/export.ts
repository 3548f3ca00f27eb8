import { csvHeader } from './call-lines.ts';
import type { ExportFormat } from './call-lines.ts';

/** Joins the pages of an export to one document. */
export async function* exportText(format: ExportFormat, pages: AsyncIterable<string>): AsyncGenerator<string> {
  if (format === 'csv') {
    yield csvHeader;
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
