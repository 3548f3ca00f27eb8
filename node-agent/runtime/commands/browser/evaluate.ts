import type { Page } from 'playwright-core';
import { maxEvaluateBytes } from '../../../../shared/commands/browser.ts';
import { toStorableJson } from '../../../../shared/json.ts';
import { CommandError } from '../handler.ts';

/** Time limit for ending the script of a busy page. */
const terminateTimeoutMs = 2_000;

/** Evaluates an expression in the page and returns its value as JSON. Time and size are limited. */
export async function evaluate(page: Page, expression: string, timeoutMs: number) {
  const script = `(async () => {
    const value = await (
${expression}
    );
    const text = JSON.stringify(value === undefined ? null : value);
    if (text === undefined) throw new Error('the value is not JSON');
    if (text.length > ${maxEvaluateBytes}) throw new Error('the value has ' + text.length + ' characters of JSON; at most ${maxEvaluateBytes} are allowed');
    return text;
  })()`;
  const timedOut = Promise.withResolvers<'timed out'>();
  const timer = setTimeout(() => timedOut.resolve('timed out'), timeoutMs);
  const evaluation = page.evaluate(script) as Promise<string>;
  try {
    const text = await Promise.race([evaluation, timedOut.promise]);
    if (text !== 'timed out') return toStorableJson(parseValue(text));
  } catch (error) {
    throw new CommandError(
      'evaluation_failed',
      (error as Error).message
        .replace(/^page\.evaluate: /, '')
        .split('\n')[0]
        ?.slice(0, 1000) ?? 'it failed',
      { cause: error },
    );
  } finally {
    clearTimeout(timer);
  }
  evaluation.catch(() => undefined);
  await terminate(page, evaluation);
  throw new CommandError('timeout', `The expression did not end within ${timeoutMs} ms.`);
}

/** @throws Error for a key that the hub does not accept in JSON. */
const parseValue = (text: string): unknown =>
  JSON.parse(text, (key, value: unknown) => {
    if (key === '__proto__') throw new Error('the value has the key __proto__, which the hub does not accept');
    return value;
  });

/** Ends the script of a busy page. Closes the page if the script does not end in time. */
async function terminate(page: Page, evaluation: Promise<unknown>): Promise<void> {
  const stuck = Promise.withResolvers<'stuck'>();
  const timer = setTimeout(() => stuck.resolve('stuck'), terminateTimeoutMs);
  const end = async () => {
    const session = await page.context().newCDPSession(page);
    await session.send('Runtime.terminateExecution');
    await session.detach();
    await page.evaluate('1');
  };
  const outcome = await Promise.race([end().catch(() => 'stuck' as const), stuck.promise]);
  clearTimeout(timer);
  if (outcome === 'stuck') await page.close({ runBeforeUnload: false }).catch(() => undefined);
  evaluation.catch(() => undefined);
}
