import { AppError } from '../../shared/errors.ts';

/** Says whether a part of the hub answers. @throws when it does not. */
export type PartCheck = (signal: AbortSignal) => Promise<unknown>;
export type PartStates = Record<string, { ok: boolean; message?: string }>;

const checkDeadlineMs = 2_000;

/** Looks at all parts at once. */
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
