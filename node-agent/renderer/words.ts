import type { CommandType } from '../../shared/commands/catalog.ts';
import type { TestPart } from '../../shared/companion/control.ts';
import type { Power } from '../../shared/companion/settings.ts';
import { createNumberFormats, createTimeFormats } from '../../shared/web/formats.ts';

const typeWords: Record<CommandType, string> = {
  'node.ping': 'Answer a ping',
  'node.capture_screen': 'Take a picture of the screen',
  'node.capture_camera': 'Take a picture with the camera',
  'node.capture_audio': 'Record sound',
  'node.files_list': 'List a folder',
  'node.files_read': 'Read a file',
  'system.run': 'Run a program',
  'browser.navigate': 'Open a page',
  'browser.screenshot': 'Take a picture of a page',
  'browser.click': 'Click in a page',
  'browser.type': 'Type into a page',
  'browser.evaluate': 'Run a script in a page',
  'browser.content': 'Read a page',
  'browser.select': 'Select options in a page',
  'browser.check': 'Check a box in a page',
  'browser.press': 'Press a key in a page',
  'browser.hover': 'Move the pointer in a page',
  'browser.scroll': 'Scroll a page',
  'browser.upload': 'Put a file into a page',
  'browser.wait_for': 'Wait for a page',
  'browser.back': 'Go back to the previous page',
  'browser.reload': 'Load a page again',
  'browser.pages': 'List open pages',
  'browser.switch': 'Switch to another page',
  'browser.close': 'Close a page',
};

const ownerActionWords: Record<string, string> = {
  'owner.change': 'You changed a setting',
  'owner.answer': 'You decided about a program',
};

/** Text for a command type or an action of the owner. Unknown types are returned unchanged. */
export function describeType(type: string): string {
  if (Object.hasOwn(ownerActionWords, type)) return ownerActionWords[type] ?? type;
  return Object.hasOwn(typeWords, type) ? typeWords[type as CommandType] : type;
}

const pictureWords: Partial<Record<CommandType, string>> = {
  'node.capture_screen': 'Screen',
  'node.capture_camera': 'Camera',
  'browser.screenshot': 'Page',
};

/** Text for what the picture of a command shows. */
export const describePicture = (type: string): string =>
  (Object.hasOwn(pictureWords, type) ? pictureWords[type as CommandType] : undefined) ?? describeType(type);

/** The power that a command needs. Null if it needs none. */
export function powerOfType(type: string): Power | null {
  if (type.startsWith('browser.')) return 'browser';
  if (type.startsWith('system.')) return 'system';
  if (type.startsWith('node.files_')) return 'files';
  if (type === 'node.capture_screen') return 'screen';
  if (type === 'node.capture_camera') return 'camera';
  if (type === 'node.capture_audio') return 'audio';
  return null;
}

export type Tone = 'good' | 'bad' | 'warning' | 'plain';

export const powerWords: Record<Power, { name: string; about: string }> = {
  screen: { name: 'Screen', about: 'Take pictures of what is on your screen.' },
  camera: { name: 'Camera', about: 'Take pictures with your camera.' },
  audio: { name: 'Microphone', about: 'Record sound for up to a minute at a time.' },
  files: { name: 'Files', about: 'List and read the folders that you share, and no others.' },
  system: { name: 'Programs', about: 'Run programs. Each run is approved by a person at the hub first.' },
  browser: { name: 'Browser', about: 'Use a browser of its own, apart from yours.' },
};

export const partWords: Record<TestPart, { name: string; about: string }> = {
  screen: { name: 'Screen', about: 'Takes a picture' },
  camera: { name: 'Camera', about: 'Takes a picture' },
  audio: { name: 'Microphone', about: 'Records a moment of sound' },
  system: { name: 'Programs', about: 'Runs a small program' },
  browser: { name: 'Browser', about: 'Opens an empty page' },
  hub: { name: 'Hub', about: 'Checks the connection' },
};
export const partNames = Object.keys(partWords) as TestPart[];

const { number, clock } = createNumberFormats();
const { time, day, dateTime, shortDateTime } = createTimeFormats();

export const count = number;
export const timeOf = (at: string): string => time(new Date(at));
export const dateTimeOf = (at: string): string => dateTime(new Date(at));

/** The time of day. Includes the date if it is not today. */
export const momentOf = (at: string, now: number): string => shortDateTime(new Date(at), new Date(now));

/** `Today`, `Yesterday`, or the date. */
export const dayOf = (at: string, now: number): string =>
  day(new Date(at), new Date(now), { today: 'Today', yesterday: 'Yesterday' });

/** A duration, for example `0.3 s` or `2 min 5 s`. */
export function durationOf(ms: number): string {
  if (ms < 100) return `under ${number(0.1)} s`;
  if (ms < 60_000) return `${number(ms < 10_000 ? Math.round(ms / 100) / 10 : Math.round(ms / 1000))} s`;
  const seconds = Math.round(ms / 1000);
  const [minutes, rest] = [Math.floor(seconds / 60), seconds % 60];
  if (minutes < 60) return rest === 0 ? `${minutes} min` : `${minutes} min ${rest} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Remaining time as minutes and seconds, for example `4:09`. */
export const countdownOf = (ms: number): string => clock(Math.max(0, Math.ceil(ms / 1000)));

/** The host of an address, for places where the whole address is too long. */
export const hostOf = (address: string): string => (URL.canParse(address) ? new URL(address).host : address);
