import { readFileSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { BaseSequencer } from 'vitest/node';
import type { TestSpecification } from 'vitest/node';

/** Duration of each test file in a recorded run, in seconds by path. `npm test -- --record-timings` writes the file. */
const timingsPath = 'test/timings.json';

type Timings = Record<string, number>;

/** Assumed duration of a file without a recorded one, in seconds. */
const unknownSeconds = 20;

/** Runs the longest files first, so that all workers finish at about the same time. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const timings = JSON.parse(readFileSync(timingsPath, 'utf8')) as Timings;
    const secondsOf = ({ moduleId }: TestSpecification) => timings[relative(process.cwd(), moduleId)] ?? unknownSeconds;
    return files.toSorted((left, right) => secondsOf(right) - secondsOf(left));
  }
}

/** Replaces the recorded timings. */
export function recordTimings(timings: Timings): void {
  const sorted = Object.entries(timings).toSorted(([, left], [, right]) => right - left);
  writeFileSync(timingsPath, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`);
}
