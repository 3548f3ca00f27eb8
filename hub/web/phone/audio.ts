import { readDevices } from '../voice/devices.ts';
import { openMicrophone } from '../voice/microphone.ts';
import type { MicrophoneStream } from '../voice/microphone.ts';
import type { PhoneStore } from './state.ts';

/** An `audio` element whose output device can be chosen in some browsers. */
type Player = HTMLAudioElement & { setSinkId?: (id: string) => Promise<void> };

const canChooseSpeaker = (): boolean => 'setSinkId' in HTMLMediaElement.prototype;

/** Reads the available devices into the store. */
export async function listDevices(store: PhoneStore): Promise<void> {
  const { microphones, speakers } = await readDevices();
  store.set({ microphones, speakers: canChooseSpeaker() ? speakers : [] });
}

/** Microphone and speaker of a call. */
export class CallAudio {
  readonly #player: Player = new Audio();
  readonly #onBlocked: (isBlocked: boolean) => void;
  readonly #onLost: () => void;
  #stream: MediaStream | null = null;

  constructor({ onBlocked, onLost }: { onBlocked: (isBlocked: boolean) => void; onLost: () => void }) {
    this.#onBlocked = onBlocked;
    this.#onLost = onLost;
    this.#player.autoplay = true;
  }

  /** Opens a microphone and closes the previous one. @throws MicrophoneError */
  async open(deviceId: string): Promise<MicrophoneStream> {
    const listening = await openMicrophone(deviceId === '' ? null : deviceId);
    const { stream } = listening;
    this.closeMicrophone();
    this.#stream = stream;
    stream.getAudioTracks()[0]?.addEventListener('ended', () => this.#stream === stream && this.#onLost());
    return listening;
  }

  closeMicrophone(): void {
    const stream = this.#stream;
    this.#stream = null;
    for (const track of stream?.getTracks() ?? []) track.stop();
  }

  play(stream: MediaStream): void {
    this.#player.srcObject = stream;
    this.resume();
  }

  /** Starts playback that the browser blocked. */
  resume(): void {
    this.#player.play().then(
      () => this.#onBlocked(false),
      (error: unknown) => this.#onBlocked(error instanceof DOMException && error.name === 'NotAllowedError'),
    );
  }

  close(): void {
    this.closeMicrophone();
    this.#player.pause();
    this.#player.srcObject = null;
    this.#onBlocked(false);
  }

  async setSpeaker(speakerId: string): Promise<void> {
    await this.#player.setSinkId?.(speakerId);
  }
}
