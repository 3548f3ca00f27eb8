import { AppError } from '../../shared/errors.ts';

/** Checks one part of the hub, such as the database. @throws when the part is unavailable. */
export type PartCheck = (signal: AbortSignal) => Promise<unknown>;
export type PartStates = Record<string, { ok: boolean; message?: string }>;

const checkDeadlineMs = 2_000;

/** Runs all checks concurrently. A check that takes longer than 2 s counts as failed. */
export async function checkParts(checks: Record<string, PartCheck>): Promise<PartStates> {
  return Object.fromEntries(
    await Promise.all(Object.entries(checks).map(async ([name, check]) => [name, await checkPart(check)] as const)),
  );
}

async function checkPart(run: (signal: AbortSignal) => Promise<unknown>): Promise<{ ok: boolean; message?: string }> {
  try {
    await run(AbortSignal.timeout(checkDeadlineMs));
    return { ok: true };
  } catch (error) {
    return { ok: false, message: error instanceof AppError ? error.message : 'does not answer' };
  }
}
