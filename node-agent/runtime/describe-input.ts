import { commandLine } from '../../shared/command-line.ts';

type Input = Record<string, unknown>;

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
/** Adds the page and the folder for downloads, which every browser command can have. */
const withPage = (input: Input, words: string) =>
  [
    words,
    ...(typeof input['pageId'] === 'string' ? [`(page ${input['pageId']})`] : []),
    ...(typeof input['saveDownloadsTo'] === 'string' ? [`(saves downloads in ${input['saveDownloadsTo']})`] : []),
  ].join(' ');

/** A URL without user name, password and query, which may hold secrets. */
function address(value: unknown): string {
  const text = textOf(value);
  if (!URL.canParse(text)) return text;
  const url = new URL(text);
  url.username = '';
  url.password = '';
  if (url.search !== '') url.search = '?…';
  return url.toString();
}

function target(value: unknown): string {
  const { selector, role, name, text, ref } = (value ?? {}) as Input;
  if (typeof selector === 'string') return selector;
  if (typeof role === 'string') return `${role}${typeof name === 'string' ? ` "${name}"` : ''}`;
  if (typeof text === 'string') return `the text "${text}"`;
  return typeof ref === 'string' ? `element ${ref}` : 'an element';
}

function bytes({ offset, length }: Input): string {
  const from = typeof offset === 'number' && offset > 0 ? ` from byte ${offset}` : '';
  return typeof length === 'number' ? `${from}, at most ${length} bytes` : from;
}

function program({ argv, cwd, env, stdin, timeoutMs }: Input): string {
  const words = Array.isArray(argv)
    ? commandLine(argv.map((word: unknown) => (typeof word === 'string' ? word : JSON.stringify(word))))
    : '';
  const names = typeof env === 'object' && env !== null ? Object.keys(env) : [];
  return [
    words,
    ...(typeof cwd === 'string' ? [`in ${cwd}`] : []),
    ...(names.length > 0 ? [`with the variables ${names.join(', ')}`] : []),
    ...(typeof stdin === 'string' ? [`with ${stdin.length} characters of input`] : []),
    ...(typeof timeoutMs === 'number' ? [`for at most ${timeoutMs / 1000} s`] : []),
  ].join(', ');
}

const lengthOf = (value: unknown): number => (Array.isArray(value) ? value.length : 0);
const onTarget = (preposition: string, value: unknown): string =>
  value === undefined ? '' : `${preposition} ${target(value)}`;

/** Hides a single character, because it may be part of a password that is typed key by key. */
function keyOf(value: unknown): string {
  const key = textOf(value);
  return [...key].length === 1 ? 'one character' : key;
}

function scrollDistance({ target: to, x, y }: Input): string {
  const pixels = [
    ...(typeof x === 'number' ? [`${Math.abs(x)} pixels ${x < 0 ? 'left' : 'right'}`] : []),
    ...(typeof y === 'number' ? [`${Math.abs(y)} pixels ${y < 0 ? 'up' : 'down'}`] : []),
  ].join(', ');
  if (pixels === '') return to === undefined ? '' : `to ${target(to)}`;
  return `${pixels}${onTarget(' in', to)}`;
}

const filePaths = (files: unknown): string[] =>
  (Array.isArray(files) ? files : []).map((file) => {
    const { path, artifactId } = (file ?? {}) as Input;
    return typeof artifactId === 'string' ? `artifact ${artifactId}` : textOf(path);
  });

function waitCondition({ target: of, state, text, url, load, download, opened }: Input): string {
  return [
    ...(of === undefined ? [] : [`until ${target(of)} is ${textOf(state) || 'visible'}`]),
    ...(typeof text === 'string' ? [`until it shows a text of ${text.length} characters`] : []),
    ...(typeof url === 'string' ? [`until its address is ${address(url)}`] : []),
    ...(typeof load === 'string' ? ['until it has loaded'] : []),
    ...(download === true ? ['until a download is saved'] : []),
    ...(opened === true ? ['until it opens another page'] : []),
  ].join(', ');
}

const describers: Record<string, (input: Input) => string> = {
  'node.ping': () => '',
  'node.capture_screen': ({ display }) => (typeof display === 'number' && display > 0 ? `display ${display}` : ''),
  'node.capture_camera': ({ device }) => textOf(device),
  'node.capture_audio': ({ seconds, device }) =>
    [`${typeof seconds === 'number' ? seconds : 5} s`, ...(typeof device === 'string' ? [device] : [])].join(', '),
  'node.files_list': ({ path }) => (typeof path === 'string' ? path : 'the shared folders'),
  'node.files_read': (input) => `${textOf(input['path'])}${bytes(input)}`,
  'system.run': program,
  'browser.navigate': (input) =>
    withPage(input, `${address(input['url'])}${input['newPage'] === true ? ' in a new page' : ''}`),
  'browser.screenshot': (input) =>
    withPage(
      input,
      input['target'] === undefined ? (input['fullPage'] === true ? 'the whole page' : '') : target(input['target']),
    ),
  'browser.click': (input) => withPage(input, target(input['target'])),
  'browser.type': (input) =>
    withPage(
      input,
      `${textOf(input['text']).length} characters into ${target(input['target'])}${input['submit'] === true ? ', then Enter' : ''}`,
    ),
  'browser.evaluate': (input) => withPage(input, textOf(input['expression']).trim()),
  'browser.content': (input) => withPage(input, ''),
  'browser.select': (input) => {
    const options = lengthOf(input['options']);
    return withPage(input, `${options === 1 ? '1 option' : `${options} options`} of ${target(input['target'])}`);
  },
  'browser.check': (input) =>
    withPage(input, `${input['checked'] === false ? 'uncheck ' : ''}${target(input['target'])}`),
  'browser.press': (input) => withPage(input, `${keyOf(input['key'])}${onTarget(' on', input['target'])}`),
  'browser.hover': (input) => withPage(input, target(input['target'])),
  'browser.scroll': (input) => withPage(input, scrollDistance(input)),
  'browser.upload': (input) =>
    withPage(input, `${filePaths(input['files']).join(', ') || 'no file'} into ${target(input['target'])}`),
  'browser.wait_for': (input) => withPage(input, waitCondition(input)),
  'browser.back': (input) => withPage(input, ''),
  'browser.reload': (input) => withPage(input, ''),
  'browser.pages': () => '',
  'browser.switch': (input) => withPage(input, ''),
  'browser.close': (input) => withPage(input, ''),
};

/** Fields that may hold a secret or private text: only their length is recorded. */
const privateFields = new Set(['stdin', 'text', 'promptText', 'expression', 'env', 'value', 'content', 'password']);

/** Describes a command of a later version field by field. */
function describeFields(input: Input): string {
  return Object.entries(input)
    .map(([name, value]) => {
      if (privateFields.has(name)) return `${name}: ${(JSON.stringify(value) ?? '').length} characters`;
      return `${name}: ${typeof value === 'string' ? address(value) : JSON.stringify(value)}`;
    })
    .join(', ');
}

/** Describes the input of a command in plain words, without secrets. The input is not validated: the hub sent it. */
export function describeInput(type: string, input: Input): string {
  const describe = Object.hasOwn(describers, type) ? describers[type] : undefined;
  return (describe ?? describeFields)(input);
}
