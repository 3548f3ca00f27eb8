import type { KeyObject } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { UpdateState } from '../../../shared/companion/app.ts';
import type { AppImage } from './app-image.ts';
import { download } from './download.ts';
import {
  compareVersions,
  describeAge,
  isUpdate,
  maxFeedBytes,
  readFeed,
  refuseUnsuitable,
  seenRelease,
} from './feed.ts';
import type { UpdateFeed } from './feed.ts';
import { fetchSmallFile, usualDeadlines } from './request.ts';
import type { RequestDeadlines } from './request.ts';
import { readSmallFile, writeSmallFile } from './small-file.ts';
import { startAndWatch } from './start-and-watch.ts';
import { UpdateProblem, diskProblem } from './update-problem.ts';
import { checkEveryMs, checkRegularly } from './updater.ts';
import type { UpdatePort, Updater } from './updater.ts';

export interface FeedUpdaterOptions {
  current: string;
  /** Address of the feed. The address of its signatures is the same with `.sig` appended. */
  feedUrl: string;
  keys: readonly KeyObject[];
  /** Platform and architecture of this machine, for example `linux-x64`. */
  target: string;
  /** Folder for state and downloads. */
  folder: string;
  port: UpdatePort;
  /** The AppImage to replace. Null if the owner installs updates, and the updater only reports them. */
  image: AppImage | null;
  /** Instructions for the owner to install a version, if there is no image. */
  describeManualUpdate?: (version: string) => string;
  deadlines?: RequestDeadlines;
  /** Deadline for the first start of a new version. */
  startDeadlineMs?: number;
  checkEveryMs?: number;
  now?: () => number;
}

/** Updates from a signed feed, on Linux, where the system does not verify signatures of apps. */
export class FeedUpdater implements Updater {
  readonly #options: FeedUpdaterOptions;
  readonly #stop = new AbortController();
  readonly #deadlines: RequestDeadlines;
  #state: UpdateState;
  #ready: { feed: UpdateFeed; file: string } | null = null;
  #work: Promise<void> = Promise.resolve();
  #isChecking = false;
  #isApplying = false;

  constructor(options: FeedUpdaterOptions) {
    this.#options = options;
    this.#deadlines = options.deadlines ?? usualDeadlines;
    this.#state = {
      by: options.image === null ? 'system' : 'app',
      current: options.current,
      state: 'idle',
      version: null,
      detail: null,
    };
    mkdirSync(options.folder, { recursive: true, mode: 0o700 });
    checkRegularly(() => this.check(), options.checkEveryMs ?? checkEveryMs, this.#stop.signal);
  }

  get state(): UpdateState {
    return this.#state;
  }

  async check(): Promise<void> {
    if (this.#isChecking || this.#isApplying || this.#stop.signal.aborted) return this.#work;
    this.#isChecking = true;
    this.#work = this.#check().finally(() => {
      this.#isChecking = false;
    });
    return this.#work;
  }

  async apply(): Promise<void> {
    const { image } = this.#options;
    if (this.#ready === null || image === null || this.#isApplying) return;
    const { feed, file } = this.#ready;
    this.#isApplying = true;
    try {
      await image.replace(file, feed, this.#options.current);
      this.#ready = null;
      await rm(file, { force: true });
      const { port, startDeadlineMs = 60_000 } = this.#options;
      await port.releaseInstance();
      const isUp = await startAndWatch(image.path, port.args(), () => !image.isPending, startDeadlineMs);
      if (isUp) port.exitTo(null);
      else {
        image.rollback(feed.version);
        port.exitTo(image.path);
      }
    } catch (error) {
      this.#ready = null;
      this.#report(error);
    } finally {
      this.#isApplying = false;
    }
  }

  confirmStarted(): void {
    this.#options.image?.confirm(this.#options.current);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#work;
  }

  async #check(): Promise<void> {
    try {
      await this.#checkFeed();
    } catch (error) {
      if (!this.#stop.signal.aborted) this.#report(error);
    }
  }

  async #checkFeed(): Promise<void> {
    const { current, feedUrl, keys, target, folder, image, describeManualUpdate } = this.#options;
    const options = { deadlines: this.#deadlines, signal: this.#stop.signal };
    if (this.#ready === null) this.#set({ state: 'checking', version: null, detail: null });
    const bytes = await fetchSmallFile(feedUrl, maxFeedBytes, options);
    if (bytes === null)
      throw new UpdateProblem(
        'failed',
        `${new URL(feedUrl).origin} announces no version. Updates will be checked again later.`,
      );
    const signatures = await fetchSmallFile(`${feedUrl}.sig`, maxFeedBytes, options);
    const feed = readFeed(bytes, signatures?.toString('latin1') ?? null, keys);
    const seenFile = join(folder, 'update-seen.json');
    const seen = readSmallFile(seenFile, seenRelease);
    refuseUnsuitable(feed, { target, seen });
    if (seen === null || seen.version !== feed.version || seen.releasedAt !== feed.releasedAt)
      try {
        writeSmallFile(seenFile, { version: feed.version, releasedAt: feed.releasedAt });
      } catch (error) {
        throw diskProblem(error, folder);
      }
    if (!isUpdate(feed, current)) {
      this.#set({ state: 'idle', version: null, detail: describeAge(feed, (this.#options.now ?? Date.now)()) });
      return;
    }
    if (image === null) {
      this.#set({ state: 'idle', version: feed.version, detail: describeManualUpdate?.(feed.version) ?? null });
      return;
    }
    if (image.isBroken(feed.version))
      throw new UpdateProblem(
        'refused',
        `Version ${feed.version} did not start on this machine, and ${current} was restored. The next newer version will be installed.`,
      );
    if (this.#ready !== null && compareVersions(this.#ready.feed.version, feed.version) === 0) return;
    this.#ready = null;
    this.#set({ state: 'downloading', version: feed.version, detail: null });
    const file = await download(feed, new URL(feed.file, feedUrl).href, { folder, ...options });
    this.#ready = { feed, file };
    this.#set({
      state: 'ready',
      version: feed.version,
      detail: 'It will be installed when no command of the hub runs on this machine.',
    });
    this.#applyWhenIdle(feed).catch((error: unknown) => this.#report(error));
  }

  async #applyWhenIdle(feed: UpdateFeed): Promise<void> {
    try {
      await this.#options.port.whenIdle(this.#stop.signal);
    } catch {
      return;
    }
    if (this.#ready?.feed === feed && !this.#stop.signal.aborted) await this.apply();
  }

  #report(error: unknown): void {
    const problem = error instanceof UpdateProblem ? error : diskProblem(error, this.#options.folder);
    this.#set({ state: problem.state, version: this.#state.version, detail: problem.message });
  }

  #set(change: Pick<UpdateState, 'state' | 'version' | 'detail'>): void {
    this.#state = { ...this.#state, ...change };
    this.#options.port.onChange(this.#state);
  }
}
