/** Letters that follow each other faster than this belong to one text. */
const textPauseMs = 1_000;
/**
 * A conversation that opened by itself takes no letter for this time after it appeared: the agent may still mean the one
 * before.
 */
const surpriseMs = 500;

interface PressedKey {
  key: string;
  code: string;
  shiftKey: boolean;
}

/** Keys without a letter of the Latin alphabet on the keyboard, by their position. */
const positions: Readonly<Record<string, string>> = { Slash: '/', 'Shift Slash': '?', 'Shift Digit3': '#' };

/**
 * The name of a shortcut: a lower-case letter, an upper-case letter with Shift, or a character. Caps Lock does not
 * matter. Keyboards of other scripts give the letter at the same position.
 */
export function shortcutName({ key, code, shiftKey }: PressedKey): string {
  const isForeign = key.length === 1 && key > '~';
  const letter = /^[a-z]$/i.test(key) ? key : isForeign && code.startsWith('Key') ? code.slice(3) : null;
  if (letter !== null) return shiftKey ? letter.toUpperCase() : letter.toLowerCase();
  return (isForeign ? positions[`${shiftKey ? 'Shift ' : ''}${code}`] : undefined) ?? key;
}

/** Whether a key belongs to an input method. Safari ends a composition before the key that ended it, with the code 229. */
export function isComposing({ isComposing: composes, keyCode }: { isComposing: boolean; keyCode: number }): boolean {
  return composes || keyCode === 229;
}

/**
 * Decides when a letter is a command. A letter is none while it can be a part of a text:
 * - in a field or a dialog, where the caller does not ask;
 * - within a second after a letter, typed into a field or ignored, because texts go on when a field loses the focus;
 * - after a field disappeared with the focus, or while one is awaited;
 * - immediately after a conversation appeared that opened by itself.
 * Escape, Tab and the pointer are deliberate: after them, letters are commands again.
 */
export class KeyRule {
  #quietUntil = 0;
  /** Whether a conversation opened by itself and the agent has acted on nothing since. */
  #isSurprised = false;

  /** The agent types a text. */
  noteTyping(now: number): void {
    this.noteQuiet(now, textPauseMs);
  }

  /** Letters are no commands for a time; `Infinity` until a deliberate act. */
  noteQuiet(now: number, forMs: number): void {
    this.#quietUntil = Math.max(this.#quietUntil, now + forMs);
  }

  /** A conversation opens by itself. It appears when the hub has responded. */
  noteSurprise(now: number): void {
    this.noteQuiet(now, surpriseMs);
    this.#isSurprised = true;
  }

  /** A conversation appears. */
  noteShown(now: number): void {
    if (this.#isSurprised) this.noteQuiet(now, surpriseMs);
    this.#isSurprised = false;
  }

  /** The agent pressed Escape, Tab or a pointer, or left a field on purpose. */
  noteDeliberateAct(): void {
    this.#quietUntil = 0;
    this.#isSurprised = false;
  }

  /** Whether a letter is a command now. An ignored one counts as a part of a text. */
  accepts(now: number): boolean {
    if (now >= this.#quietUntil) {
      this.#isSurprised = false;
      return true;
    }
    this.noteTyping(now);
    return false;
  }
}
