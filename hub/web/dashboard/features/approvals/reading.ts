import { createContext, useContext, useEffect, useRef, useState, useSyncExternalStore } from 'react';
import type { RefObject } from 'react';

/** Time in milliseconds that an end must stay in view to count as seen. */
const seenAfterMs = 500;

/** What a person has seen of a request: the end of the page's part, and the end of each frame that scrolls. */
export class Reading {
  readonly #cover: RefObject<HTMLElement | null>;
  /** Each end that was not seen, and whether it can be: more follows after the end of a cut text. */
  readonly #unseen = new Map<HTMLElement, boolean>();
  readonly #timers = new Map<Element, ReturnType<typeof setTimeout>>();
  readonly #listeners = new Set<() => void>();
  #observer: IntersectionObserver | null = null;
  #hasStarted = false;

  /** @param cover Lies over the lower edge of the page. What it covers is not in view. */
  constructor(cover: RefObject<HTMLElement | null>) {
    this.#cover = cover;
  }

  isDone = () => this.#hasStarted && this.#unseen.size === 0;

  subscribe = (listener: () => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** The end must be seen. @returns a function that takes this back. */
  expect(end: HTMLElement, isCut: boolean): () => void {
    this.#hasStarted = true;
    this.#unseen.set(end, !isCut);
    if (!isCut) (this.#observer ?? this.observe()).observe(end);
    this.#notify();
    return () => {
      this.#observer?.unobserve(end);
      this.#forget(end);
    };
  }

  /** Looks from now on with the present size of the cover. */
  observe(): IntersectionObserver {
    this.close();
    const covered = this.#cover.current?.offsetHeight ?? 0;
    const observer = new IntersectionObserver((entries) => this.#note(entries), {
      rootMargin: `0px 0px ${-covered}px`,
    });
    for (const [end, canBeSeen] of this.#unseen) if (canBeSeen) observer.observe(end);
    this.#observer = observer;
    return observer;
  }

  close(): void {
    this.#observer?.disconnect();
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    this.#observer = null;
  }

  /** Scrolls to the first end that was not seen. */
  showRest = () => {
    const covered = this.#cover.current?.offsetHeight ?? 0;
    const [first] = [...this.#unseen.keys()].toSorted((one, other) =>
      one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1,
    );
    if (first === undefined) return;
    first.style.scrollMarginBottom = `${covered + 16}px`;
    first.scrollIntoView({ block: 'end' });
  };

  #note(entries: readonly IntersectionObserverEntry[]): void {
    for (const { target, isIntersecting } of entries) {
      clearTimeout(this.#timers.get(target));
      if (isIntersecting)
        this.#timers.set(
          target,
          setTimeout(() => this.#forget(target as HTMLElement), seenAfterMs),
        );
    }
  }

  #forget(end: HTMLElement): void {
    clearTimeout(this.#timers.get(end));
    this.#timers.delete(end);
    if (this.#unseen.delete(end)) this.#notify();
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}

const ReadingContext = createContext<Reading | null>(null);
export const ReadingProvider = ReadingContext.Provider;

/** What the person has seen of a request, and whether that is all of it. */
export function useReading(cover: RefObject<HTMLElement | null>): { reading: Reading; isRead: boolean } {
  const [reading] = useState(() => new Reading(cover));
  const isRead = useSyncExternalStore(reading.subscribe, reading.isDone);
  useEffect(() => {
    const panel = cover.current;
    if (panel === null || isRead) return;
    const sizes = new ResizeObserver(() => reading.observe());
    sizes.observe(panel);
    return () => sizes.disconnect();
  }, [reading, cover, isRead]);
  useEffect(() => () => reading.close(), [reading]);
  return { reading, isRead };
}

/** The end of a text, which must be in view before the request counts as read. */
export function useEnd(isCut = false): RefObject<HTMLSpanElement | null> {
  const reading = useContext(ReadingContext);
  const end = useRef<HTMLSpanElement>(null);
  useEffect(() => (end.current === null ? undefined : reading?.expect(end.current, isCut)), [reading, isCut]);
  return end;
}
