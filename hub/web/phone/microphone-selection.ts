import { MicrophoneError } from '../voice/microphone.ts';
import { listDevices } from './audio.ts';
import type { CallAudio } from './audio.ts';
import type { Call } from './call.ts';
import type { PhoneStore } from './state.ts';

/** Which microphone listens, and what the page says of it. */
export class MicrophoneSelection {
  readonly #store: PhoneStore;
  readonly #audio: CallAudio;

  constructor(store: PhoneStore, audio: CallAudio) {
    this.#store = store;
    this.#audio = audio;
  }

  /** Listens with it; null where that can't be, which the page says then. */
  async open(deviceId = this.#store.state.microphoneId): Promise<MediaStream | null> {
    try {
      const { stream, isReplaced } = await this.#audio.open(deviceId);
      this.#store.set(isReplaced ? { microphoneProblem: 'replaced', microphoneId: '' } : { microphoneProblem: null });
      // Browsers name devices from now on.
      void listDevices(this.#store);
      return stream;
    } catch (error) {
      const problem = error instanceof MicrophoneError ? error.problem : 'failed';
      this.#store.set({ microphoneProblem: problem });
      return null;
    }
  }

  /** Takes one from now on, also in the call that is; null for none. */
  async select(microphoneId: string, call: Call | null): Promise<void> {
    const { microphoneId: before } = this.#store.state;
    this.#store.set({ microphoneId });
    // Where it can't be had the call goes on with the one before.
    if (call !== null && !(await this.#replaceMicrophone(microphoneId, call)))
      this.#store.set({ microphoneId: before });
  }

  /** Takes that of the system in the place of one that is gone. */
  async useDefault(call: Call | null): Promise<void> {
    const isReplaced = call !== null && (await this.#replaceMicrophone('', call));
    this.#store.set({ microphoneId: '', microphoneProblem: isReplaced ? 'replaced' : 'lost' });
  }

  async #replaceMicrophone(deviceId: string, call: Call): Promise<boolean> {
    const track = (await this.open(deviceId))?.getAudioTracks()[0];
    if (track !== undefined) await call.replaceMicrophone(track);
    return track !== undefined;
  }
}
