/** Reads a source as fast as it produces items and buffers them for a slower reader. The source bounds the buffer. */
export interface ReadAhead<Item> {
  /** Resolves to the next item, or null after the last. @throws the error of the source, after all items before it. */
  next(): Promise<Item | null>;
}

export function readAhead<Item>(source: AsyncIterable<Item>): ReadAhead<Item> {
  const items: Item[] = [];
  let end: { error: unknown } | 'whole' | null = null;
  let wake: () => void = () => undefined;
  const read = async () => {
    for await (const item of source) {
      items.push(item);
      wake();
    }
  };
  read().then(
    () => {
      end = 'whole';
      wake();
    },
    (error: unknown) => {
      end = { error };
      wake();
    },
  );
  return {
    async next() {
      while (items.length === 0 && end === null)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      const item = items.shift();
      if (item !== undefined) return item;
      if (end !== null && end !== 'whole') throw end.error;
      return null;
    },
  };
}
