import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { median, repeat } from './dashboard-browser.ts';
import { row } from './dashboard-row.ts';
import type { Row } from './dashboard-row.ts';
import type { BenchHub } from './hub.ts';
import { milliseconds } from './table.ts';

const steps = 200;
/** The first step waits until all viewers are connected. */
const connectSeconds = 3;

interface Sample {
  hubSeconds: number;
  postgresSeconds: number;
  /** Bytes that one viewer received. */
  bytes: number;
  /** Milliseconds from the end of the run until the last viewer had all events. */
  lateMs: number;
}

/** Reads the events of a run until the hub ends the stream. @returns the number of bytes. */
async function view(hub: BenchHub, runId: string): Promise<number> {
  const response = await fetch(`${hub.url}/v1/automations/runs/${runId}/events?include=`, {
    headers: { 'x-api-key': hub.key },
  });
  if (!response.ok) throw new Error(`The hub answered ${response.status} to a viewer.`);
  const body = await response.arrayBuffer();
  return body.byteLength;
}

async function runWithViewers(hub: BenchHub, workflowId: string, viewers: number): Promise<Sample> {
  const before = await hub.usage();
  const { runId } = startedRun(await hub.api.call('runAutomationWorkflow', { params: { id: workflowId } }));
  const sizes = await Promise.all(Array.from({ length: viewers }, () => view(hub, runId)));
  const seenAt = Date.now();
  const { finishedAt } = await settledRun(hub.api, runId);
  const after = await hub.usage();
  return {
    hubSeconds: after.cpuSeconds - before.cpuSeconds,
    postgresSeconds: after.postgresSeconds - before.postgresSeconds,
    bytes: sizes[0] ?? 0,
    lateMs: viewers === 0 ? 0 : seenAt - Date.parse(finishedAt ?? ''),
  };
}

/** The cost of a run of 200 steps for the hub and its database, with none, one and 50 viewers of its events. */
export async function measureViewers(hub: BenchHub): Promise<Row[]> {
  const { id } = await hub.api.call('createAutomationWorkflow', {
    body: {
      name: 'viewed',
      stepsJson: Array.from({ length: steps }, (_value, index) => ({
        type: 'log' as const,
        message: `step ${index}`,
        ...(index === 0 ? { delaySeconds: connectSeconds } : {}),
      })),
    },
  });
  await runWithViewers(hub, id, 1);
  const rows: Row[] = [];
  for (const viewers of [0, 1, 50]) {
    const samples = await repeat(() => runWithViewers(hub, id, viewers));
    const of = (value: (sample: Sample) => number) => median(samples.map(value));
    rows.push(
      row(`viewers ${viewers}: hub`, milliseconds(of((sample) => sample.hubSeconds) * 1000)),
      row(`viewers ${viewers}: PostgreSQL`, milliseconds(of((sample) => sample.postgresSeconds) * 1000)),
    );
    if (viewers > 0)
      rows.push(
        row(`viewers ${viewers}: bytes for each`, String(of((sample) => sample.bytes))),
        row(`viewers ${viewers}: last event after the end of the run`, milliseconds(of((sample) => sample.lateMs))),
      );
  }
  return rows;
}
