declare module '@echogarden/fvad-wasm' {
  /** The Emscripten module of WebRTC's voice activity detection. All detectors of a process share its memory. */
  export interface Fvad {
    HEAP16: Int16Array;
    _malloc(bytes: number): number;
    _free(pointer: number): void;
    _fvad_new(): number;
    _fvad_free(handle: number): void;
    /** Modes: 0 (reports voice often) to 3 (reports voice rarely). Returns -1 for another mode. */
    _fvad_set_mode(handle: number, mode: number): number;
    _fvad_set_sample_rate(handle: number, sampleRate: number): number;
    /** Returns 1 for voice, 0 for no voice, -1 for an invalid frame length. */
    _fvad_process(handle: number, pointer: number, samples: number): number;
  }
  export default function load(): Promise<Fvad>;
}
