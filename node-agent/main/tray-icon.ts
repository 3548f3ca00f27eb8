/** What the tray shows at a glance. */
export type TrayMark = 'connected' | 'disconnected' | 'paused' | 'problem';

const colours: Record<TrayMark, [number, number, number]> = {
  connected: [0x2f, 0x9e, 0x68],
  disconnected: [0x8a, 0x8f, 0x98],
  paused: [0xd9, 0x8b, 0x1f],
  problem: [0xd1, 0x43, 0x43],
};
const samples = 4;

/** Whether a point of the unit square belongs to the mark; shapes differ too, for whoever sees no colours. */
function isInk(mark: TrayMark, x: number, y: number): boolean {
  const radius = Math.hypot(x - 0.5, y - 0.5);
  const isRing = radius < 0.48 && radius > 0.36;
  if (isRing) return true;
  const inside = (left: number, right: number, top: number, bottom: number) =>
    x > left && x < right && y > top && y < bottom;
  if (mark === 'connected') return radius < 0.2;
  if (mark === 'paused') return inside(0.34, 0.45, 0.3, 0.7) || inside(0.55, 0.66, 0.3, 0.7);
  if (mark === 'problem') return inside(0.44, 0.56, 0.24, 0.56) || inside(0.44, 0.56, 0.64, 0.76);
  return false;
}

/** The mark as pixels, four bytes each: blue, green, red, alpha, as Electron takes a bitmap. */
export function drawTrayIcon(mark: TrayMark, size: number): Buffer {
  const [red, green, blue] = colours[mark];
  const pixels = Buffer.alloc(size * size * 4);
  for (let row = 0; row < size; row += 1) {
    for (let column = 0; column < size; column += 1) {
      let hits = 0;
      for (let down = 0; down < samples; down += 1)
        for (let right = 0; right < samples; right += 1)
          if (isInk(mark, (column + (right + 0.5) / samples) / size, (row + (down + 0.5) / samples) / size)) hits += 1;
      const alpha = hits / samples ** 2;
      pixels.set([blue * alpha, green * alpha, red * alpha, 255 * alpha].map(Math.round), (row * size + column) * 4);
    }
  }
  return pixels;
}
