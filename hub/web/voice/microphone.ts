import { background } from '../../../shared/web/background.ts';
import type { CapturedBlock, CaptureOptions } from './capture/processor.ts';

/** Why the microphone cannot be used. */
export type MicrophoneProblem = 'denied' | 'absent' | 'busy' | 'insecure' | 'lost' | 'failed';

/** Problems that a page shows; `replaced`: the system default is used instead of the selected microphone. */
export type MicrophoneNotice = MicrophoneProblem | 'replaced';

/** An open microphone. */
export interface MicrophoneStream {
  stream: MediaStream;
  /** Whether the system default is used because the selected microphone is not available. */
  isReplaced: boolean;
}

/** A microphone could not be opened. */
export class MicrophoneError extends Error {
  readonly problem: MicrophoneProblem;

  constructor(problem: MicrophoneProblem, cause?: unknown) {
    super(`the microphone can't be used: ${problem}`, { cause });
    this.problem = problem;
  }
}

export interface MicrophoneOptions {
  /** URL of the built `capture/processor.ts`. */
  processorUrl: string;
  /** Id of the device; null for the system default. */
  deviceId: string | null;
  onBlock: (block: CapturedBlock) => void;
  /** The microphone was disconnected, or its permission was withdrawn. */
  onLost: () => void;
}

/** The sample rate that speech needs; a higher one would only send more data. */
const speechSampleRate = 16_000;
const blockMs = 40;

/** An open microphone that delivers its audio in blocks until it is closed. */
export class Microphone {
  readonly sampleRate: number;
  /** Whether the system default is used because the selected microphone is not available. */
  readonly isReplaced: boolean;
  readonly #stream: MediaStream;
  readonly #context: AudioContext;
  readonly #node: AudioWorkletNode;

  private constructor(
    { stream, isReplaced }: MicrophoneStream,
    context: AudioContext,
    node: AudioWorkletNode,
    sampleRate: number,
  ) {
    this.#stream = stream;
    this.isReplaced = isReplaced;
    this.#context = context;
    this.#node = node;
    this.sampleRate = sampleRate;
  }

  /** Opens a microphone and requests permission if necessary. @throws MicrophoneError */
  static async open({ processorUrl, deviceId, onBlock, onLost }: MicrophoneOptions): Promise<Microphone> {
    const opened = await openMicrophone(deviceId);
    const { stream } = opened;
    try {
      const { context, source } = createSource(stream);
      await context.audioWorklet.addModule(processorUrl);
      const ratio = Math.max(1, Math.floor(context.sampleRate / speechSampleRate));
      const processorOptions: CaptureOptions = { blockMs, ratio };
      const node = new AudioWorkletNode(context, 'capture', {
        numberOfOutputs: 0,
        channelCount: 1,
        channelCountMode: 'explicit',
        processorOptions,
      });
      node.port.addEventListener('message', ({ data }: MessageEvent<CapturedBlock>) => onBlock(data));
      node.port.start();
      source.connect(node);
      await context.resume();
      for (const track of stream.getTracks()) track.addEventListener('ended', onLost);
      return new Microphone(opened, context, node, context.sampleRate / ratio);
    } catch (error) {
      stopTracks(stream);
      throw new MicrophoneError('failed', error);
    }
  }

  close(): void {
    this.#node.port.close();
    stopTracks(this.#stream);
    background(this.#context.close());
  }
}

const stopTracks = (stream: MediaStream) => {
  for (const track of stream.getTracks()) track.stop();
};

/**
 * Opens a microphone and requests permission if necessary.
 * @param deviceId null for the system default, which is also used when the device is not available.
 * @throws MicrophoneError
 */
export async function openMicrophone(deviceId: string | null): Promise<MicrophoneStream> {
  // Browsers offer no microphone to pages loaded over plain HTTP from another machine.
  if (!window.isSecureContext || (navigator.mediaDevices as MediaDevices | undefined) === undefined)
    throw new MicrophoneError('insecure');
  if (deviceId !== null)
    try {
      // Without `exact`, browsers may silently use the system default instead.
      return { stream: await open({ deviceId: { exact: deviceId } }), isReplaced: false };
    } catch (error) {
      if (problemOf(error) !== 'absent') throw new MicrophoneError(problemOf(error), error);
    }
  try {
    return { stream: await open({}), isReplaced: deviceId !== null };
  } catch (error) {
    throw new MicrophoneError(problemOf(error), error);
  }
}

const open = (constraints: MediaTrackConstraints): Promise<MediaStream> =>
  navigator.mediaDevices.getUserMedia({
    audio: { channelCount: 1, echoCancellation: true, noiseSuppression: true, autoGainControl: true, ...constraints },
  });

function problemOf(error: unknown): MicrophoneProblem {
  switch (error instanceof DOMException ? error.name : '') {
    case 'NotAllowedError':
    case 'SecurityError':
      return 'denied';
    case 'NotFoundError':
    case 'OverconstrainedError':
      return 'absent';
    case 'NotReadableError':
    case 'AbortError':
      return 'busy';
    default:
      return 'failed';
  }
}

function createSource(stream: MediaStream): { context: AudioContext; source: MediaStreamAudioSourceNode } {
  const context = new AudioContext({ sampleRate: speechSampleRate, latencyHint: 'interactive' });
  try {
    return { context, source: context.createMediaStreamSource(stream) };
  } catch {
    // Some browsers support only the sample rate of the device.
    background(context.close());
    const deviceContext = new AudioContext({ latencyHint: 'interactive' });
    return { context: deviceContext, source: deviceContext.createMediaStreamSource(stream) };
  }
}
