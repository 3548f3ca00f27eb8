import { qualityBetween } from './quality.ts';
import type { Counts, Quality } from './quality.ts';

const pollIntervalMs = 200;
/** Over how much of the call its quality is judged. */
const windowMs = 4_000;
/** How often it is told. */
const reportIntervalMs = 1_000;

export interface MeterOptions {
  connection: RTCPeerConnection;
  /** How loud it is here and there, from 0 to 1. */
  onLevels: (levels: { microphone: number; answer: number }) => void;
  onQuality: (quality: Quality) => void;
}

/** Measures a call by what the browser counts of it, until it is stopped. */
export class Meter {
  readonly #options: MeterOptions;
  readonly #timer: ReturnType<typeof setInterval>;
  #recentCounts: Counts[] = [];
  #isReading = false;
  #reportedAt = 0;

  constructor(options: MeterOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.#read(), pollIntervalMs);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#options.onLevels({ microphone: 0, answer: 0 });
  }

  async #read(): Promise<void> {
    const { connection, onLevels } = this.#options;
    if (this.#isReading || connection.connectionState === 'closed') return;
    this.#isReading = true;
    try {
      const { levels, counts } = readReport(await connection.getStats());
      onLevels(levels);
      this.#reportQuality(counts);
    } catch {
      // Closed meanwhile.
    } finally {
      this.#isReading = false;
    }
  }

  #reportQuality(counts: Counts): void {
    const recent = this.#recentCounts.filter(({ atMs }) => atMs > counts.atMs - windowMs);
    const [first] = recent;
    this.#recentCounts = [...recent, counts];
    if (
      first === undefined ||
      counts.atMs - first.atMs < reportIntervalMs ||
      counts.atMs - this.#reportedAt < reportIntervalMs
    )
      return;
    this.#reportedAt = counts.atMs;
    this.#options.onQuality(qualityBetween(first, counts));
  }
}

/** What of a browser's report counts here; they leave out what they do not know. */
interface Entry extends RTCStats {
  kind?: string;
  audioLevel?: number;
  packetsReceived?: number;
  packetsLost?: number;
  jitter?: number;
  currentRoundTripTime?: number;
  nominated?: boolean;
}

function readReport(report: RTCStatsReport): { levels: { microphone: number; answer: number }; counts: Counts } {
  const entries: Entry[] = [];
  report.forEach((entry: Entry) => entries.push(entry));
  const find = (type: string) => entries.find((entry) => entry.type === type && (entry.kind ?? 'audio') === 'audio');
  const inbound = find('inbound-rtp');
  const way = entries.find(({ type, nominated }) => type === 'candidate-pair' && nominated === true);
  return {
    levels: { microphone: find('media-source')?.audioLevel ?? 0, answer: inbound?.audioLevel ?? 0 },
    counts: {
      atMs: performance.now(),
      received: inbound?.packetsReceived ?? 0,
      lost: inbound?.packetsLost ?? 0,
      jitterMs: (inbound?.jitter ?? 0) * 1000,
      roundTripMs: way?.currentRoundTripTime === undefined ? null : way.currentRoundTripTime * 1000,
    },
  };
}
