import { encode as encodePng } from 'fast-png';
import jpeg from 'jpeg-js';
import { describe, expect, test } from 'vitest';
import { imageSize } from './commands/image-size.ts';
import { decodePicture, faultOf, shrink } from './picture.ts';
import type { Picture } from './picture.ts';

type Colour = [number, number, number];

function paint(width: number, height: number, colourAt: (x: number, y: number) => Colour): Picture {
  const rgba = new Uint8Array(width * height * 4).fill(255);
  for (let y = 0; y < height; y += 1) for (let x = 0; x < width; x += 1) rgba.set(colourAt(x, y), (y * width + x) * 4);
  return { width, height, rgba };
}

const asJpeg = ({ width, height, rgba }: Picture) => jpeg.encode({ width, height, data: rgba }, 90).data;
/** Pseudo-random numbers, the same in every run. */
function pseudoRandom(): () => number {
  let state = 7;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

describe('decoding a picture returns its pixels', () => {
  const samples = [10, 20, 30, 200, 100, 50];
  test.each([
    ['RGB', { channels: 3, data: new Uint8Array(samples) }],
    ['RGBA', { channels: 4, data: new Uint8Array([10, 20, 30, 255, 200, 100, 50, 0]) }],
    ['RGB of 16 bits', { channels: 3, depth: 16 as const, data: new Uint16Array(samples.map((value) => value * 257)) }],
  ])('from a PNG of %s', (_kind, png) => {
    const { rgba, ...size } = decodePicture(Buffer.from(encodePng({ width: 2, height: 1, ...png })));
    expect(size).toEqual({ width: 2, height: 1 });
    expect([...rgba]).toEqual([10, 20, 30, 255, 200, 100, 50, 255]);
  });

  test('from a grey PNG and from one with a palette', () => {
    const grey = encodePng({ width: 2, height: 1, channels: 1, data: new Uint8Array([7, 99]) });
    expect([...decodePicture(Buffer.from(grey)).rgba]).toEqual([7, 7, 7, 255, 99, 99, 99, 255]);
    const indexed = encodePng({
      width: 2,
      height: 1,
      channels: 1,
      palette: [
        [1, 2, 3],
        [4, 5, 6],
      ],
      data: new Uint8Array([1, 0]),
    });
    expect([...decodePicture(Buffer.from(indexed)).rgba]).toEqual([4, 5, 6, 255, 1, 2, 3, 255]);
  });

  test('from a JPEG', () => {
    const { width, height, rgba } = decodePicture(asJpeg(paint(32, 16, () => [200, 30, 30])));
    expect([width, height]).toEqual([32, 16]);
    expect(Math.abs((rgba[0] as number) - 200)).toBeLessThan(8);
  });

  test.each([
    ['nothing', Buffer.alloc(0)],
    ['a text', Buffer.from('<html>not a picture</html>')],
    [
      'a PNG that was cut off',
      Buffer.from(encodePng({ width: 9, height: 9, data: new Uint8Array(324) })).subarray(0, 60),
    ],
    ['a JPEG that was cut off', asJpeg(paint(64, 64, () => [1, 2, 3])).subarray(0, 100)],
  ])('and fails for %s', (_kind, bytes) => {
    expect(() => decodePicture(bytes)).toThrow(/no picture/);
  });
});

describe('a screen', () => {
  test('that is all black, or black except for the pointer, shows nothing', () => {
    expect(
      faultOf(
        paint(800, 600, () => [0, 0, 0]),
        'screen',
      ),
    ).toBe('black');
    const pointer = (x: number, y: number): Colour =>
      x > 400 && x < 420 && y > 300 && y < 320 ? [255, 255, 255] : [0, 0, 0];
    expect(faultOf(paint(800, 600, pointer), 'screen')).toBe('black');
  });

  test('that is all one colour shows nothing', () => {
    expect(
      faultOf(
        paint(800, 600, () => [58, 110, 165]),
        'screen',
      ),
    ).toBe('one_colour');
  });

  test('that is black except for a line of text shows something', () => {
    const line = (x: number, y: number): Colour =>
      y > 4 && y < 16 && x > 4 && x < 140 && x % 3 === 0 ? [200, 200, 200] : [0, 0, 0];
    expect(faultOf(paint(1920, 1080, line), 'screen')).toBeNull();
  });
});

describe('a camera', () => {
  test('that is covered shows nothing, also with sensor noise', () => {
    const next = pseudoRandom();
    const noise = paint(640, 480, () => [4 + next() * 12, 4 + next() * 12, 4 + next() * 12]);
    expect(faultOf(decodePicture(asJpeg(noise)), 'camera')).toBe('black');
  });

  test('without a signal shows one colour', () => {
    expect(faultOf(decodePicture(asJpeg(paint(640, 480, () => [0, 0, 180]))), 'camera')).toBe('one_colour');
  });

  test('in a dim room shows something', () => {
    const room = paint(640, 480, (x, y) => [20 + x / 16, 18 + y / 16, 15 + (x + y) / 32]);
    expect(faultOf(decodePicture(asJpeg(room)), 'camera')).toBeNull();
  });
});

test.each([
  [3840, 2160, 640, 360],
  [1080, 9000, 115, 960],
  [320, 200, 320, 200],
])(
  'a picture of %ix%i shrinks to %ix%i, under 200 KB, with the same colours',
  async (width, height, newWidth, newHeight) => {
    const next = pseudoRandom();
    const { contentType, base64 } = shrink(
      paint(width, height, (x) => (x < width / 2 ? [200, 30, 30] : [next() * 255, next() * 255, next() * 255])),
    );
    const bytes = Buffer.from(base64, 'base64');
    expect(contentType).toBe('image/jpeg');
    expect(await imageSize(bytes)).toEqual({ width: newWidth, height: newHeight });
    expect(bytes.length).toBeLessThanOrEqual(200_000);
    const [red, green] = decodePicture(bytes).rgba;
    expect(red).toBeGreaterThan(180);
    expect(green).toBeLessThan(60);
  },
);
