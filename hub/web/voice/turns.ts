import type { VoiceFrame, VoiceLatency } from '../../../shared/contract/ai/voice.ts';

/** One turn of the talk: what was said, and what was answered. */
export interface Turn {
  id: string;
  user: string;
  assistant: string;
  isDone: boolean;
  isInterrupted: boolean;
  /** What went wrong, by the code of the error; empty for nothing. */
  failure: string;
  /** By stage, as the hub counted; null until it is told. */
  latency: VoiceLatency | null;
  /** From the end of what was said to the first sound here, in milliseconds; null where one of both is not known. */
  firstSoundMs: number | null;
}

/** More are not kept: the oldest go. */
const maxTurns = 200;

const newTurn = (id: string): Turn => ({
  id,
  user: '',
  assistant: '',
  isDone: false,
  isInterrupted: false,
  failure: '',
  latency: null,
  firstSoundMs: null,
});

/** Changes one turn; it is begun where there is none of that id. */
export function changeTurn(turns: readonly Turn[], id: string, change: (turn: Turn) => Partial<Turn>): readonly Turn[] {
  const index = turns.findIndex((turn) => turn.id === id);
  const turn = turns[index] ?? newTurn(id);
  const changed = { ...turn, ...change(turn) };
  return index === -1 ? [...turns, changed].slice(-maxTurns) : turns.with(index, changed);
}

/** The turns after a frame of the hub. */
export function applyFrame(turns: readonly Turn[], frame: VoiceFrame): readonly Turn[] {
  switch (frame.type) {
    case 'text':
      return changeTurn(turns, frame.turnId, ({ assistant }) =>
        frame.role === 'user' ? { user: frame.data } : { assistant: assistant + frame.data },
      );
    case 'done':
      return changeTurn(turns, frame.turnId, ({ isInterrupted }) => ({
        isDone: true,
        isInterrupted: isInterrupted || frame.interrupted,
        latency: frame.latencyMs,
      })).filter(({ user, assistant, failure }) => user !== '' || assistant !== '' || failure !== '');
    case 'error':
      return frame.turnId === undefined ? turns : changeTurn(turns, frame.turnId, () => ({ failure: frame.code }));
    case 'audio':
      return turns;
  }
}

/** Marks what the hub is still at as interrupted. */
export const markInterrupted = (turns: readonly Turn[]): readonly Turn[] =>
  turns.map((turn) => (turn.isDone ? turn : { ...turn, isInterrupted: true }));

/** Ends what the hub will not end any more. */
export const endOpenTurns = (turns: readonly Turn[]): readonly Turn[] =>
  turns
    .filter(({ isDone, user, assistant }) => isDone || user !== '' || assistant !== '')
    .map((turn) => (turn.isDone ? turn : { ...turn, isDone: true, isInterrupted: true }));
