import type { Locator } from 'playwright-core';
import { toStorableText } from '../../../../shared/json.ts';
import { CommandError } from '../handler.ts';
import { isTimeout } from './targets.ts';

const maxShownOptions = 20;
const maxShownLength = 100;
/** Time limit for reading the options of a field. */
const readTimeoutMs = 2_000;

interface Option {
  value: string;
  label: string;
  isDisabled: boolean;
}

interface PageOption {
  value: string;
  label: string;
  disabled: boolean;
  parentElement: { disabled?: boolean } | null;
}
interface PageField {
  disabled?: boolean;
  options?: Iterable<PageOption>;
}

/** Returns the options of a field, or of the field that belongs to a label. Runs in the page. */
function readOptions(element: PageField & { control?: PageField }): Option[] {
  const field = element.control ?? element;
  return [...(field.options ?? [])].map((option) => ({
    value: option.value,
    label: option.label.trim(),
    isDisabled: field.disabled === true || option.disabled || option.parentElement?.disabled === true,
  }));
}

/**
 * Selects options by value or label, and waits until they exist and are enabled. Returns the values of the selected
 * options.
 * @throws CommandError `target_not_found` with the missing or disabled options.
 */
export async function selectOptions(
  field: Locator,
  wanted: string[],
  timeoutMs: number,
  signal: AbortSignal,
): Promise<string[]> {
  try {
    return await field.selectOption(wanted, { timeout: timeoutMs, signal });
  } catch (error) {
    if (!isTimeout(error)) throw error;
    const options = await field.evaluate(readOptions, undefined, { timeout: readTimeoutMs }).catch((): Option[] => []);
    const problem = problemOf(wanted, options);
    if (problem === null) throw error;
    throw new CommandError('target_not_found', problem, { cause: error });
  }
}

function problemOf(wanted: readonly string[], options: readonly Option[]): string | null {
  const matching = (text: string) => options.filter(({ value, label }) => value === text || label === text.trim());
  const missing = wanted.filter((text) => matching(text).length === 0);
  const disabled = wanted.filter((text) => matching(text).some(({ isDisabled }) => isDisabled));
  if (missing.length === 0 && disabled.length === 0) return null;
  const existing = options.map(({ label, value, isDisabled }) => `${label || value}${isDisabled ? ' (disabled)' : ''}`);
  return [
    ...(missing.length === 0 ? [] : [`The field has no option ${quoted(missing)}.`]),
    ...(disabled.length === 0 ? [] : [`The page disabled the option ${quoted(disabled)}.`]),
    `Its options: ${existing.length === 0 ? 'none' : quoted(existing)}.`,
  ].join(' ');
}

function quoted(texts: readonly string[]): string {
  const shown = texts.slice(0, maxShownOptions).map((text) => JSON.stringify(text.slice(0, maxShownLength)));
  const hiddenCount = texts.length - shown.length;
  return toStorableText(`${shown.join(', ')}${hiddenCount > 0 ? ` and ${hiddenCount} more` : ''}`);
}
