import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Resvg } from '@resvg/resvg-js';

/** Renders the images in `node-agent/resources/icons` from the drawings in its folder `source`. */

const icons = fileURLToPath(new URL('../resources/icons/', import.meta.url));
/** Up to this size, the drawing with thicker lines is used. */
const smallUpTo = 32;

const trayStates = ['connected', 'waiting', 'paused', 'offline'] as const;
/** Colours of tray icons by background. macOS colours template images itself. */
const trayColours = { light: '#1d2a33', dark: '#ffffff', any: '#3f8fc4', template: '#000000' } as const;

const read = (name: string) => readFileSync(`${icons}source/${name}.svg`, 'utf8');

const draw = (svg: string, size: number): Buffer =>
  Buffer.from(new Resvg(svg, { fitTo: { mode: 'width', value: size } }).render().asPng());

const drawApp = (size: number): Buffer => draw(read(size <= smallUpTo ? 'app-small' : 'app'), size);

/** An `.ico` file with PNG images, as Windows Vista and later support. */
function ico(sizes: readonly number[]): Buffer {
  const pictures = sizes.map(drawApp);
  const header = Buffer.alloc(6 + 16 * sizes.length);
  header.writeUInt16LE(1, 2);
  header.writeUInt16LE(sizes.length, 4);
  let offset = header.length;
  for (const [index, picture] of pictures.entries()) {
    const at = 6 + 16 * index;
    // A size of 256 is written as 0.
    header.writeUInt8((sizes[index] as number) % 256, at);
    header.writeUInt8((sizes[index] as number) % 256, at + 1);
    header.writeUInt16LE(1, at + 4);
    header.writeUInt16LE(32, at + 6);
    header.writeUInt32LE(picture.length, at + 8);
    header.writeUInt32LE(offset, at + 12);
    offset += picture.length;
  }
  return Buffer.concat([header, ...pictures]);
}

/** An `.icns` file with PNG images. Each type has a size, or a size at double density. */
function icns(types: Readonly<Record<string, number>>): Buffer {
  const parts = Object.entries(types).map(([type, size]) => {
    const picture = drawApp(size);
    const head = Buffer.alloc(8);
    head.write(type, 'latin1');
    head.writeUInt32BE(picture.length + 8, 4);
    return Buffer.concat([head, picture]);
  });
  const head = Buffer.alloc(8);
  head.write('icns', 'latin1');
  head.writeUInt32BE(8 + parts.reduce((sum, { length }) => sum + length, 0), 4);
  return Buffer.concat([head, ...parts]);
}

const pngSizes = [16, 22, 24, 32, 48, 64, 128, 256, 512];

for (const folder of ['linux', 'tray']) {
  rmSync(`${icons}${folder}`, { recursive: true, force: true });
  mkdirSync(`${icons}${folder}`);
}
for (const size of pngSizes) writeFileSync(`${icons}linux/${size}x${size}.png`, drawApp(size));
writeFileSync(`${icons}icon.ico`, ico([16, 24, 32, 48, 64, 256]));
writeFileSync(`${icons}icon.icns`, icns({ icp4: 16, icp5: 32, ic11: 32, ic12: 64, ic07: 128, ic08: 256, ic09: 512 }));
for (const state of trayStates)
  for (const [ground, colour] of Object.entries(trayColours)) {
    const svg = read(`tray-${state}`).replace('color="#000000"', `color="${colour}"`);
    // Electron detects template images by a name that ends in "Template".
    const name = ground === 'template' ? `tray/${state}Template` : `tray/${state}-${ground}`;
    const size = ground === 'template' ? 16 : 22;
    writeFileSync(`${icons}${name}.png`, draw(svg, size));
    writeFileSync(`${icons}${name}@2x.png`, draw(svg, size * 2));
  }
