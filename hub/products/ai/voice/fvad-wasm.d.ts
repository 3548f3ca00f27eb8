declare module '@echogarden/fvad-wasm' {
  /** WebRTC's detection of voice, as Emscripten shows it; all of one process share its memory. */
  export interface Fvad {
    HEAP16: Int16Array;
    _malloc(bytes: number): number;
    _free(pointer: number): void;
    _fvad_new(): number;
    _fvad_free(handle: number): void;
    /** From 0, which takes much for a voice, to 3; -1 for another one. */
    _fvad_set_mode(handle: number, mode: number): number;
    _fvad_set_sample_rate(handle: number, sampleRate: number): number;
    /** 1 for a voice, 0 for none, -1 where the length is none of a frame. */
    _fvad_process(handle: number, pointer: number, samples: number): number;
  }
  export default function load(): Promise<Fvad>;
}
