import { background } from '../../../shared/web/background.ts';
import { qualityBetween } from './quality.ts';
import type { Counts, Quality } from './quality.ts';

const pollIntervalMs = 200;
/** Length of the interval over which quality is measured. */
const windowMs = 4_000;
/** Interval between two reports to `onQuality`. */
const reportIntervalMs = 1_000;

export interface MeterOptions {
  connection: RTCPeerConnection;
  /** Audio levels of both sides, from 0 to 1. `answer` is the other side. */
  onLevels: (levels: { microphone: number; answer: number }) => void;
  onQuality: (quality: Quality) => void;
}

/** Measures levels and quality of a call from the statistics of the browser, until stopped. */
export class Meter {
  readonly #options: MeterOptions;
  readonly #timer: ReturnType<typeof setInterval>;
  #recentCounts: Counts[] = [];
  #isReading = false;
  #reportedAt = 0;

  constructor(options: MeterOptions) {
    this.#options = options;
    this.#timer = setInterval(() => background(this.#read()), pollIntervalMs);
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
      // The connection was closed during the read.
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

/** The fields of a WebRTC statistics report that the meter reads. Browsers omit values that they do not know. */
interface StatsEntry extends RTCStats {
  kind?: string;
  audioLevel?: number;
  packetsReceived?: number;
  packetsLost?: number;
  jitter?: number;
  currentRoundTripTime?: number;
  nominated?: boolean;
}

function readReport(report: RTCStatsReport): { levels: { microphone: number; answer: number }; counts: Counts } {
  const entries: StatsEntry[] = [];
  report.forEach((entry: StatsEntry) => entries.push(entry));
  const find = (type: string) => entries.find((entry) => entry.type === type && (entry.kind ?? 'audio') === 'audio');
  const inbound = find('inbound-rtp');
  const candidatePair = entries.find(({ type, nominated }) => type === 'candidate-pair' && nominated === true);
  return {
    levels: { microphone: find('media-source')?.audioLevel ?? 0, answer: inbound?.audioLevel ?? 0 },
    counts: {
      atMs: performance.now(),
      received: inbound?.packetsReceived ?? 0,
      lost: inbound?.packetsLost ?? 0,
      jitterMs: (inbound?.jitter ?? 0) * 1000,
      roundTripMs: candidatePair?.currentRoundTripTime === undefined ? null : candidatePair.currentRoundTripTime * 1000,
    },
  };
}
