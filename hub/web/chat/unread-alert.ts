import { background } from '../../../shared/web/background.ts';
/** Alerts a visitor who does not look at the page: the number of unread messages in the page's title, and a sound. */
export class UnreadAlert {
  #title = '';
  #audio: AudioContext | null = null;

  constructor() {
    // Browsers allow a page to play sound only after the visitor has interacted with it.
    const createAudio = () => {
      this.#audio ??= typeof AudioContext === 'undefined' ? null : new AudioContext();
    };
    for (const event of ['pointerdown', 'keydown']) addEventListener(event, createAudio, { once: true, passive: true });
  }

  setTitle(title: string): void {
    this.#title = title;
  }

  /** @param unread shown only while the page is hidden. */
  showCount(unread: number): void {
    const title = document.hidden && unread > 0 ? `(${unread}) ${this.#title}` : this.#title;
    if (document.title !== title) document.title = title;
  }

  playSound(): void {
    const audio = this.#audio;
    if (audio === null) return;
    const play = () => {
      const start = audio.currentTime;
      for (const [index, frequency] of [740, 988].entries()) {
        const tone = audio.createOscillator();
        const gain = audio.createGain();
        const at = start + index * 0.12;
        tone.frequency.value = frequency;
        gain.gain.setValueAtTime(0.0001, at);
        gain.gain.exponentialRampToValueAtTime(0.06, at + 0.02);
        gain.gain.exponentialRampToValueAtTime(0.0001, at + 0.28);
        tone.connect(gain).connect(audio.destination);
        tone.start(at);
        tone.stop(at + 0.3);
      }
    };
    background(audio.resume().then(play));
  }
}
