import type { CallRecord } from '../../../../shared/contract/calls/records.ts';
import { callRecord } from '../../../../shared/contract/calls/records.ts';
import { toLine } from './csv.ts';

/** The columns of the CSV, which are the fields of a record. */
const csvColumns = Object.keys(callRecord.shape) as (keyof CallRecord)[];

/** The text of an export, a page at a time. */
export async function* exportText(
  format: 'json' | 'csv',
  pages: AsyncIterable<readonly CallRecord[]>,
): AsyncGenerator<string> {
  if (format === 'csv') {
    yield toLine(csvColumns);
    for await (const page of pages) yield page.map((call) => toLine(csvColumns.map((name) => call[name]))).join('');
    return;
  }
  let before = '[';
  for await (const page of pages) {
    yield before + page.map((call) => JSON.stringify(call)).join(',\n');
    before = ',\n';
  }
  yield before === '[' ? '[]\n' : ']\n';
}
