import type { QueryKey } from '@tanstack/react-query';
import { useRereadOn } from '../../app/live-updates.tsx';

/** Numbers of a busy workspace change all the time, so they are read again at most this often. */
const everyMs = 10_000;
/** Several events of one change arrive within this time. */
const settleMs = 500;

/** Reads numbers again soon after events of a type. */
export const useRereadAfter = (type: 'run' | 'node', keys: readonly QueryKey[]) =>
  useRereadOn((event) => event.type === type, keys, { everyMs, settleMs });
