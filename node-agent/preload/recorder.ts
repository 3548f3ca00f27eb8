import { ipcRenderer } from 'electron';
import type { RecorderAnswer, RecorderRequest } from '../../shared/companion/recorder.ts';

/**
 * Captures camera, microphone and screen, for systems that permit it only to apps. It runs as the preload script of an
 * empty hidden page and answers requests of the main process with bytes. The page cannot access it.
 */

const sampleRate = 16_000;
const warmUpFrames = 15;

/** The open screen stream, reused for all pictures, because the desktop asks the owner for each stream. */
let screenStream: MediaStream | undefined;

/** Non-standard constraints of Chromium for screen capture. */
interface ScreenConstraints {
  mandatory: { chromeMediaSource: 'desktop'; chromeMediaSourceId: string; maxFrameRate: number };
}

/** Constraint for a device, by its id or its label. */
async function constraintFor(kind: 'videoinput' | 'audioinput', device: string | null): Promise<MediaTrackConstraints> {
  if (device === null) return {};
  const found = (await navigator.mediaDevices.enumerateDevices()).find(
    (one) => one.kind === kind && [one.deviceId, one.label].includes(device),
  );
  if (found === undefined) throw new Error(`There is no device "${device}".`);
  return { deviceId: { exact: found.deviceId } };
}

async function takePicture(device: string | null): Promise<ArrayBuffer> {
  const stream = await navigator.mediaDevices.getUserMedia({
    video: { ...(await constraintFor('videoinput', device)), width: { ideal: 1_920 }, height: { ideal: 1_080 } },
  });
  try {
    // The first frames of a camera are dark, because the exposure is not adjusted yet.
    return await frameOf(stream, warmUpFrames, { type: 'image/jpeg', quality: 0.9 });
  } finally {
    for (const track of stream.getTracks()) track.stop();
  }
}

async function frameOf(stream: MediaStream, frames: number, form: ImageEncodeOptions): Promise<ArrayBuffer> {
  const video = document.createElement('video');
  try {
    video.muted = true;
    video.srcObject = stream;
    await video.play();
    for (let frame = 0; frame < frames; frame += 1) await new Promise((done) => video.requestVideoFrameCallback(done));
    const canvas = new OffscreenCanvas(video.videoWidth, video.videoHeight);
    canvas.getContext('2d')?.drawImage(video, 0, 0);
    return await (await canvas.convertToBlob(form)).arrayBuffer();
  } finally {
    video.srcObject = null;
  }
}

/** A picture of the screen. Null if no screen is open, and one must be chosen. */
async function takeScreen(source: string | null, form: ImageEncodeOptions): Promise<ArrayBuffer | null> {
  if (source !== null) {
    for (const track of screenStream?.getTracks() ?? []) track.stop();
    const video: ScreenConstraints = {
      mandatory: { chromeMediaSource: 'desktop', chromeMediaSourceId: source, maxFrameRate: 5 },
    };
    screenStream = await navigator.mediaDevices.getUserMedia({ video: video as MediaTrackConstraints });
    for (const track of screenStream.getTracks())
      track.addEventListener('ended', () => ipcRenderer.send('recorder:screen-ended'));
  }
  // The owner may have ended the stream with the controls of the desktop.
  if (screenStream?.getVideoTracks()[0]?.readyState !== 'live') return null;
  return frameOf(screenStream, 0, form);
}

async function recordSound(device: string | null, seconds: number): Promise<ArrayBuffer> {
  const stream = await navigator.mediaDevices.getUserMedia({
    audio: {
      ...(await constraintFor('audioinput', device)),
      echoCancellation: false,
      noiseSuppression: false,
      autoGainControl: false,
    },
  });
  const context = new AudioContext({ sampleRate });
  try {
    const wanted = Math.round(seconds * sampleRate);
    const samples = new Float32Array(wanted);
    let recorded = 0;
    const source = context.createMediaStreamSource(stream);
    // An audio worklet would need a separate script, which the policy of the page forbids.
    const tap = context.createScriptProcessor(4_096, 1, 1);
    await new Promise<void>((done) => {
      tap.onaudioprocess = ({ inputBuffer }) => {
        const part = inputBuffer.getChannelData(0).subarray(0, wanted - recorded);
        samples.set(part, recorded);
        recorded += part.length;
        if (recorded >= wanted) done();
      };
      source.connect(tap);
      tap.connect(context.destination);
    });
    tap.onaudioprocess = null;
    return toWav(samples);
  } finally {
    for (const track of stream.getTracks()) track.stop();
    await context.close();
  }
}

/** A WAV file with PCM, 16 bits, one channel. */
function toWav(samples: Float32Array): ArrayBuffer {
  const view = new DataView(new ArrayBuffer(44 + samples.length * 2));
  const text = (at: number, letters: string) =>
    [...letters].forEach((letter, index) => view.setUint8(at + index, letter.charCodeAt(0)));
  text(0, 'RIFF');
  view.setUint32(4, 36 + samples.length * 2, true);
  text(8, 'WAVEfmt ');
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, sampleRate, true);
  view.setUint32(28, sampleRate * 2, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  text(36, 'data');
  view.setUint32(40, samples.length * 2, true);
  samples.forEach((sample, index) =>
    view.setInt16(44 + index * 2, Math.round(Math.max(-1, Math.min(1, sample)) * 32_767), true),
  );
  return view.buffer as ArrayBuffer;
}

function capture(request: RecorderRequest): Promise<ArrayBuffer | null> {
  if (request.kind === 'camera') return takePicture(request.device);
  if (request.kind === 'audio') return recordSound(request.device, request.seconds);
  return takeScreen(request.source, { type: request.contentType, quality: request.quality / 100 });
}

ipcRenderer.on('recorder:take', (_event, request: RecorderRequest) => {
  const { id } = request;
  const answer = (message: RecorderAnswer) => ipcRenderer.send('recorder:taken', message);
  capture(request).then(
    (bytes) => answer({ id, bytes }),
    (error: Error) => answer({ id, problem: `${error.name}: ${error.message}` }),
  );
});
