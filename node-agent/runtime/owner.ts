import { createHash } from 'node:crypto';
import { chmodSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import type { Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { visibleLine } from '../../shared/visible-text.ts';
import { CompanionError } from './data-folder.ts';
import type { DataFolder } from './data-folder.ts';

/** What a running companion says of itself. */
const runningStatus = z.object({
  pid: z.int(),
  connected: z.boolean(),
  byChannel: z.boolean().default(false),
  hub: z.string(),
  nodeId: z.string(),
  running: z.array(z.object({ id: z.string(), type: z.string() })),
  lastError: z.string().nullable(),
});
export type RunningStatus = z.output<typeof runningStatus>;

/** The process and its connection, as they are shown to the owner. */
export function describeRunning({ pid, connected, byChannel, lastError }: RunningStatus): string {
  const connection = connected ? `connected by ${byChannel ? 'a channel' : 'polls'}` : 'not connected';
  return `process ${pid}, ${connection}${connected || lastError === null ? '' : `: ${visibleLine(lastError)}`}`;
}

const answerDeadlineMs = 2_000;
const maxAnswerLength = 1_000_000;

/** A socket path may have about 100 bytes; a data folder deep down gets one elsewhere, named after it. */
function socketPath(folder: DataFolder): string {
  if (process.platform === 'win32')
    return `\\\\.\\pipe\\outrigger-companion-${createHash('sha256').update(folder.path).digest('hex').slice(0, 16)}`;
  const inside = join(folder.path, 'control.sock');
  return Buffer.byteLength(inside) < 100
    ? inside
    : join(tmpdir(), `outrigger-companion-${createHash('sha256').update(folder.path).digest('hex').slice(0, 16)}.sock`);
}

/** Asks the companion that runs on a data folder for its status; null when none does. */
export function askStatus(folder: DataFolder): Promise<RunningStatus | null> {
  return new Promise((done) => {
    const socket = connect(socketPath(folder));
    let text = '';
    socket.setTimeout(answerDeadlineMs, () => socket.destroy());
    socket.on('data', (chunk) => {
      text += chunk.toString('utf8');
      if (text.length > maxAnswerLength) socket.destroy();
    });
    socket.on('error', () => done(null));
    socket.on('close', () => {
      done(parseStatus(text));
    });
  });
}

function parseStatus(text: string): RunningStatus | null {
  try {
    return runningStatus.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

/**
 * Makes this process the one owner of a data folder, as long as it lives: it listens on a socket there, which the kernel takes
 * away with the process, however it ends.
 * @throws CompanionError when another process has it.
 */
export async function ownDataFolder(folder: DataFolder, status: () => RunningStatus): Promise<AsyncDisposable> {
  const path = socketPath(folder);
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const server = createServer((socket) => {
      socket.on('error', () => socket.destroy());
      socket.end(JSON.stringify(status()));
    });
    if (await listens(server, path)) {
      if (process.platform !== 'win32') chmodSync(path, 0o600);
      return { [Symbol.asyncDispose]: () => new Promise((done) => server.close(() => done())) };
    }
    const other = await askStatus(folder);
    if (other !== null)
      throw new CompanionError(
        `Another companion (process ${other.pid}) runs on ${folder.path}; stop it, or name another folder with --data-folder.`,
      );
    if (await isListenedTo(path))
      throw new CompanionError(
        `Another companion runs on ${folder.path} and does not answer; stop it, or name another folder with --data-folder.`,
      );
    // Nobody listens there: its process is gone.
    rmSync(path, { force: true });
  }
  throw new CompanionError(`The data folder ${folder.path} is being taken by another process; try again.`);
}

/** Whether a process has a socket, be it too busy to answer: the kernel connects to it, or has too many that wait, and refuses what a dead one left. */
function isListenedTo(path: string): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(path, () => done(true));
    socket.on('error', (error: NodeJS.ErrnoException) => done(error.code === 'EAGAIN'));
    socket.on('connect', () => socket.destroy());
  });
}

function listens(server: Server, path: string): Promise<boolean> {
  return new Promise((done, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => (error.code === 'EADDRINUSE' ? done(false) : reject(error)));
    server.listen(path, () => done(true));
  });
}
