import { parseSync } from 'vite';
import type { SourceFile } from './imports.ts';

const most = 300;
const reason = 'Over 300 lines: ';
const generated = ['shared/client/operations.ts'];

/** Whether a file is source of the hub, the companion or what they share, and neither a test nor written by a tool. */
const isCounted = (path: string) =>
  /^(hub|node-agent|shared)\//.test(path) && !/\.test\.tsx?$/.test(path) && !generated.includes(path);

/** Why a file is too long, or null when it is not, or a comment of it tells its reason. */
export function lengthProblem({ path, text }: SourceFile): string | null {
  const lines = text.split('\n').length - 1;
  if (!isCounted(path) || lines <= most) return null;
  const { comments } = parseSync(path, text, { sourceType: 'module' });
  if (comments.some(({ value }) => value.includes(reason))) return null;
  return `${path} has ${lines} lines; cut it at a seam, or say in a comment "${reason}…"`;
}
