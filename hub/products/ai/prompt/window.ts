import { estimateTokens } from '../../../platform/inference/token-estimate.ts';

/** What each quoted line begins with, and the lines around a quotation with what they say. */
const quotedLineTokens = 2;
const quotationTokens = 60;
/** What servers put around each message. */
const messageTokens = 8;

export const tokensOfMessage = (content: string): number => estimateTokens(content) + messageTokens;

export function tokensOfQuoted(text: string): number {
  let lines = 1;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines += 1;
  return estimateTokens(text) + quotedLineTokens * lines + quotationTokens;
}

/** What is left of a model's context for a prompt: it is filled part by part, the most important first. */
export class Window {
  #left: number;

  constructor(tokens: number) {
    this.#left = Math.max(0, Math.floor(tokens));
  }

  get left(): number {
    return this.#left;
  }

  /** Takes room for something as a whole; false when there is too little. */
  take(tokens: number): boolean {
    if (tokens > this.#left) return false;
    this.#left -= tokens;
    return true;
  }

  /** As much of a text, from its beginning, as there is room for; at most `share` of what is left. */
  takeBeginning(text: string, tokensOf: (text: string) => number, share = 1): string {
    const room = this.#left * share;
    let least = 0;
    let most = text.length;
    if (tokensOf(text) > room) {
      while (least < most) {
        const middle = Math.ceil((least + most) / 2);
        if (tokensOf(text.slice(0, middle)) <= room) least = middle;
        else most = middle - 1;
      }
      // Not half of a character.
      if (least > 0 && (text.charCodeAt(least - 1) & 0xfc00) === 0xd800) least -= 1;
    } else least = text.length;
    const taken = text.slice(0, least);
    if (taken !== '') this.#left = Math.max(0, this.#left - tokensOf(taken));
    return taken;
  }
}
