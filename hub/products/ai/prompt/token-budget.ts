import { estimateTokens } from '../../../platform/inference/token-estimate.ts';

/** Tokens of the prefix of each quoted line, and of the lines around a quotation. */
const quotedLineTokens = 2;
const quotationTokens = 60;
/** Tokens that model servers add to each message. */
const messageTokens = 8;

export const tokensOfMessage = (content: string): number => estimateTokens(content) + messageTokens;

export function tokensOfQuoted(text: string): number {
  let lines = 1;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines += 1;
  return estimateTokens(text) + quotedLineTokens * lines + quotationTokens;
}

/** The tokens of a context that are left for the prompt. Parts are added in order of importance. */
export class TokenBudget {
  #left: number;

  constructor(tokens: number) {
    this.#left = Math.max(0, Math.floor(tokens));
  }

  get left(): number {
    return this.#left;
  }

  /** Uses some tokens. Returns false, and uses none, when fewer are left. */
  take(tokens: number): boolean {
    if (tokens > this.#left) return false;
    this.#left -= tokens;
    return true;
  }

  /** Returns the longest prefix of a text that fits into `share` of the remaining tokens, and uses its tokens. */
  takeBeginning(text: string, tokensOf: (text: string) => number, share = 1): string {
    const available = this.#left * share;
    let low = 0;
    let high = text.length;
    if (tokensOf(text) > available) {
      while (low < high) {
        const middle = Math.ceil((low + high) / 2);
        if (tokensOf(text.slice(0, middle)) <= available) low = middle;
        else high = middle - 1;
      }
      // A surrogate pair must not be split.
      if (low > 0 && (text.charCodeAt(low - 1) & 0xfc00) === 0xd800) low -= 1;
    } else low = text.length;
    const taken = text.slice(0, low);
    if (taken !== '') this.#left = Math.max(0, this.#left - tokensOf(taken));
    return taken;
  }
}
