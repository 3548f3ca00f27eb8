import type { Run, StepResult } from '../../shared/client/client.ts';
import { visibleLine } from '../../shared/visible-text.ts';

const isTerminal = process.stdout.isTTY;

/** Prints the steps of a run as they progress, one line each. */
export class Timeline {
  readonly #printed = new Map<number, string>();
  readonly #titles: string[];
  readonly #color: boolean;

  constructor(titles: string[], color: boolean) {
    this.#titles = titles;
    this.#color = color;
  }

  update(run: Run): void {
    for (const step of run.stepsResultJson) {
      const before = this.#printed.get(step.index);
      if (step.status === 'pending' || before === step.status) continue;
      // Without a terminal, only finished and waiting steps are printed.
      if (!isTerminal && step.status === 'running') continue;
      this.#printed.set(step.index, step.status);
      process.stdout.write(`${this.#line(step)}\n`);
    }
  }

  #line(step: StepResult): string {
    const marks: Record<string, [string, number]> = {
      running: ['…', 36],
      succeeded: ['✓', 32],
      failed: ['✗', 31],
      skipped: ['-', 90],
      waiting_approval: ['?', 33],
    };
    const [mark, code] = marks[step.status] ?? ['·', 90];
    const title = (this.#titles[step.index] ?? step.type).padEnd(34);
    const duration =
      step.startedAt !== null && step.finishedAt !== null
        ? `${String(Date.parse(step.finishedAt) - Date.parse(step.startedAt)).padStart(5)} ms`
        : '        ';
    const text = step.error === null ? describe(step) : `${step.error.code}: ${step.error.message}`;
    return `  ${this.#paint(mark, code)} ${title} ${duration}  ${visibleLine(text.trim().replaceAll(/[\t\n\r]+/g, ' ')).slice(0, 90)}`;
  }

  #paint(text: string, code: number): string {
    return this.#color ? `\u001B[${code}m${text}\u001B[0m` : text;
  }
}

function describe({ status, output }: StepResult): string {
  if (status === 'waiting_approval') return 'waiting for your approval';
  if (status === 'running') return '';
  const value = (output ?? {}) as Record<string, unknown>;
  if (value['pong'] === true) return `round trip ${Number(value['latencyMs']).toFixed(1)} ms`;
  if (typeof value['artifactId'] === 'string')
    return `${String(value['width'])}x${String(value['height'])} ${String(value['contentType'])}, ${String(value['bytes'])} bytes`;
  if (Array.isArray(value['entries']))
    return value['entries'].map((entry) => (entry as { name: string }).name).join(', ');
  if (typeof value['stdout'] === 'string') return value['stdout'];
  if (typeof value['text'] === 'string') return value['text'];
  if (typeof value['title'] === 'string') return `${value['title']} at ${String(value['url'])}`;
  return '';
}
