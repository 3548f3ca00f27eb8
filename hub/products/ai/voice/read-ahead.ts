/** What comes from a source that is read as fast as it gives, for somebody who takes it more slowly. The source bounds what it gives. */
export interface ReadAhead<Item> {
  /** The next one; null behind the last. @throws what the source threw, after what came before. */
  next(): Promise<Item | null>;
}

export function readAhead<Item>(source: AsyncIterable<Item>): ReadAhead<Item> {
  const items: Item[] = [];
  let end: { error: unknown } | 'whole' | null = null;
  let wake: () => void = () => undefined;
  const read = async () => {
    try {
      for await (const item of source) {
        items.push(item);
        wake();
      }
      end = 'whole';
    } catch (error) {
      end = { error };
    }
    wake();
  };
  void read();
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
