import { background } from '../../../shared/web/background.ts';
import { MicrophoneError } from '../voice/microphone.ts';
import { listDevices } from './audio.ts';
import type { CallAudio } from './audio.ts';
import type { Call } from './call.ts';
import type { PhoneStore } from './state.ts';

/** Opens and switches the microphone, and shows problems with it on the page. */
export class MicrophoneSelection {
  readonly #store: PhoneStore;
  readonly #audio: CallAudio;

  constructor(store: PhoneStore, audio: CallAudio) {
    this.#store = store;
    this.#audio = audio;
  }

  /** Opens a microphone. Returns null and shows the problem on the page if that fails. */
  async open(deviceId = this.#store.state.microphoneId): Promise<MediaStream | null> {
    try {
      const { stream, isReplaced } = await this.#audio.open(deviceId);
      this.#store.set(isReplaced ? { microphoneProblem: 'replaced', microphoneId: '' } : { microphoneProblem: null });
      // Browsers reveal device names only after the user has allowed the microphone.
      background(listDevices(this.#store));
      return stream;
    } catch (error) {
      const problem = error instanceof MicrophoneError ? error.problem : 'failed';
      this.#store.set({ microphoneProblem: problem });
      return null;
    }
  }

  /** Selects a microphone, also for the current call if there is one. */
  async select(microphoneId: string, call: Call | null): Promise<void> {
    const { microphoneId: before } = this.#store.state;
    this.#store.set({ microphoneId });
    // If the new microphone cannot be opened, the call keeps the previous one.
    if (call !== null && !(await this.#replaceMicrophone(microphoneId, call)))
      this.#store.set({ microphoneId: before });
  }

  /** Switches to the system default after the selected microphone was disconnected. */
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
