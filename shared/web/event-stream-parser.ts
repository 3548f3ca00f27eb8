export interface StreamedEvent {
  event: string;
  data: string;
  /** Id of the event or of the last earlier one with an id; empty without one. */
  id: string;
}

/** Returns a function that parses server-sent events from chunks of any size. */
export function createEventStreamParser(onEvent: (event: StreamedEvent) => void): (piece: string) => void {
  let unfinished = '';
  let event = '';
  let id = '';
  let data: string[] = [];
  return (piece) => {
    const lines = (unfinished + piece).split('\n');
    unfinished = lines.pop() ?? '';
    for (const rawLine of lines) {
      const line = rawLine.endsWith('\r') ? rawLine.slice(0, -1) : rawLine;
      if (line === '') {
        if (data.length > 0) onEvent({ event: event === '' ? 'message' : event, data: data.join('\n'), id });
        event = '';
        data = [];
        continue;
      }
      const colon = line.indexOf(':');
      if (colon === 0) continue;
      const field = colon === -1 ? line : line.slice(0, colon);
      const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
      if (field === 'event') event = value;
      else if (field === 'data') data.push(value);
      else if (field === 'id') id = value;
    }
  };
}
