import type { CapturedBlock, CaptureOptions } from './capture/processor.ts';

/** Why nothing can be heard. */
export type MicrophoneProblem = 'denied' | 'absent' | 'busy' | 'insecure' | 'lost' | 'failed';

/** What a page says of its microphone: also that another one listens than the one that was chosen. */
export type MicrophoneNotice = MicrophoneProblem | 'replaced';

/** What listens. */
export interface MicrophoneStream {
  stream: MediaStream;
  /** Whether it is that of the system, because the one that was chosen is not there. */
  isReplaced: boolean;
}

/** What goes wrong when a microphone is opened, in one of the words above. */
export class MicrophoneError extends Error {
  readonly problem: MicrophoneProblem;

  constructor(problem: MicrophoneProblem, cause?: unknown) {
    super(`the microphone can't be used: ${problem}`, { cause });
    this.problem = problem;
  }
}

export interface MicrophoneOptions {
  /** Address of the built `capture/processor.ts`. */
  processorUrl: string;
  /** The one of that id; null for that of the system. */
  deviceId: string | null;
  onBlock: (block: CapturedBlock) => void;
  /** It was unplugged or taken away. */
  onLost: () => void;
}

/** What speech needs, so that no more is sent. */
const speechSampleRate = 16_000;
const blockMs = 40;

/** A microphone that is open: hands over what it hears, block by block, until it is closed. */
export class Microphone {
  readonly sampleRate: number;
  /** Whether it is that of the system, because the one that was chosen is not there. */
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

  /** Asks the person where they were not asked yet. @throws MicrophoneError */
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
    void this.#context.close();
  }
}

const stopTracks = (stream: MediaStream) => {
  for (const track of stream.getTracks()) track.stop();
};

/** Asks the person where they were not asked yet. @param deviceId null for that of the system, which is also taken where that one is not there. @throws MicrophoneError */
export async function openMicrophone(deviceId: string | null): Promise<MicrophoneStream> {
  // Browsers hide it from pages that came by plain http from another machine.
  if (!window.isSecureContext || (navigator.mediaDevices as MediaDevices | undefined) === undefined)
    throw new MicrophoneError('insecure');
  if (deviceId !== null)
    try {
      // A mere wish for it browsers leave unheard, and take that of the system.
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
    // Some browsers listen at the rate of the device alone.
    void context.close();
    const deviceContext = new AudioContext({ latencyHint: 'interactive' });
    return { context: deviceContext, source: deviceContext.createMediaStreamSource(stream) };
  }
}
