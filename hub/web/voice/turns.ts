import type { VoiceFrame, VoiceLatency } from '../../../shared/contract/ai/voice.ts';

/** One turn of the conversation: the user's input and the answer. */
export interface Turn {
  id: string;
  user: string;
  assistant: string;
  isDone: boolean;
  isInterrupted: boolean;
  /** Error code; empty for no error. */
  failure: string;
  /** Duration of each stage, measured by the hub; null until the hub reports it. */
  latency: VoiceLatency | null;
  /**
   * Time from the end of the input to the first audio in this browser, in milliseconds; null when either is unknown.
   */
  firstSoundMs: number | null;
}

/** Older turns are removed. */
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

/** Changes a turn, or adds it if the list has no turn with this id. */
export function changeTurn(turns: readonly Turn[], id: string, change: (turn: Turn) => Partial<Turn>): readonly Turn[] {
  const index = turns.findIndex((turn) => turn.id === id);
  const turn = turns[index] ?? newTurn(id);
  const changed = { ...turn, ...change(turn) };
  return index === -1 ? [...turns, changed].slice(-maxTurns) : turns.with(index, changed);
}

/** Returns the turns after a frame of the hub. */
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

/** Marks the turns in progress as interrupted. */
export const markInterrupted = (turns: readonly Turn[]): readonly Turn[] =>
  turns.map((turn) => (turn.isDone ? turn : { ...turn, isInterrupted: true }));

/** Ends the turns in progress after the connection was lost. Turns without text are removed. */
export const endOpenTurns = (turns: readonly Turn[]): readonly Turn[] =>
  turns
    .filter(({ isDone, user, assistant }) => isDone || user !== '' || assistant !== '')
    .map((turn) => (turn.isDone ? turn : { ...turn, isDone: true, isInterrupted: true }));
