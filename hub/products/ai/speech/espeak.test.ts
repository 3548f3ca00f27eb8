import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fastClock } from '../../../../test/fixtures/fast-clock.ts';
import { systemClock } from '../../../platform/clock.ts';
import { createEspeak } from './espeak.ts';
import type { SpeakRequest, Speech } from './speech.ts';

const never = new AbortController().signal;
const speechOptions = { clock: systemClock, onCall: () => undefined };
async function speakAll(
  options: Parameters<typeof createEspeak>[0],
  request: Omit<SpeakRequest, 'signal'>,
  signal = never,
): Promise<Speech[]> {
  const parts: Speech[] = [];
  for await (const part of createEspeak(options, speechOptions).speak({ signal, ...request })) parts.push(part);
  return parts;
}

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'outrigger-espeak-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Creates a program that lists voices as espeak-ng does and otherwise runs the script. */
function createProgram(name: string, script: string): string {
  const path = join(folder, name);
  const voices =
    "printf 'Pty Language Age/Gender VoiceName File\\n 5  en --/M English gmw/en\\n 5  de --/M German gmw/de\\n'";
  writeFileSync(path, `#!/bin/sh\nif [ "$1" = --voices ]; then ${voices}; exit 0; fi\n${script}\n`, { mode: 0o755 });
  return path;
}
const isRunning = (pid: number) => {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
};
const pidIn = (file: string) => {
  try {
    return Number(readFileSync(file, 'utf8')) || null;
  } catch {
    return null;
  }
};

test('a text reaches the program only as words, never as an option, a command or a phoneme', async () => {
  const program = createProgram(
    'echo',
    `printf '%s\\n' "$@" > ${folder}/args; cat > ${folder}/text; head -c 4 /dev/zero`,
  );
  const text = `--stdout [[x]] \u0001+5A\u0007 'a' "b" $(c)\nend`;
  expect(await speakAll({ program, voice: null }, { text, language: 'en', voice: 'de' })).toHaveLength(1);
  const args = ['--stdin', '--stdout', '-b', '1', '-v', 'de'];
  expect(readFileSync(join(folder, 'args'), 'utf8').trim().split('\n')).toEqual(args);
  expect(readFileSync(join(folder, 'text'), 'utf8')).toBe(`--stdout [ [x]]  +5A  'a' "b" $(c)\nend`);
});

test('an unknown voice is reported to its sender or to the operator, and never reaches the program', async () => {
  const program = createProgram('never', `echo "$@" > ${folder}/named; head -c 4 /dev/zero`);
  for (const voice of ['nobody', '../../etc/passwd', '-w/tmp/x']) {
    const quoted = expect.stringContaining(JSON.stringify(voice)) as string;
    await expect(speakAll({ program, voice: 'de' }, { text: 'Hello', voice })).rejects.toMatchObject({
      code: 'validation_failed',
      kind: 'voice_unknown',
      message: quoted,
    });
    const withHubVoice = speakAll({ program, voice }, { text: 'Hello', language: 'en' });
    await expect(withHubVoice).rejects.toMatchObject({ code: 'speech_failed', kind: 'voice_unknown', message: quoted });
    await expect(withHubVoice).rejects.toThrow('set TTS_VOICE to one of espeak-ng --voices');
  }
  expect(existsSync(join(folder, 'named'))).toBe(false);
  expect(await speakAll({ program, voice: 'nobody' }, { text: 'Hello', voice: 'de' })).toHaveLength(1);
});

test.each([
  ['is missing', () => join(folder, 'missing'), 'program_missing'],
  ['fails', () => createProgram('fails', 'echo no such voice >&2; exit 3'), 'program_failed'],
  ['makes no sound', () => createProgram('silent', 'cat >/dev/null'), 'empty'],
  ['writes something else', () => createProgram('else', 'echo "<html>hello</html>"'), 'rubbish'],
])('a program that %s fails with a message that names it', async (_name, program, kind) => {
  await expect(speakAll({ program: program(), voice: null }, { text: 'Hello' })).rejects.toMatchObject({
    kind,
    stage: 'text_to_speech',
    message: expect.stringContaining(folder) as string,
  });
});

test('the voices are listed once, even if a caller that waits for them aborts', async () => {
  const [lists, go, program] = [join(folder, 'lists'), join(folder, 'go'), join(folder, 'lists-late')];
  const list = `echo >> ${lists}; until [ -e ${go} ]; do sleep 0.02; done; printf 'Pty\\n 5  en --/M English gmw/en\\n'`;
  writeFileSync(program, `#!/bin/sh\n[ "$1" = --voices ] || exec head -c 4 /dev/zero\n${list}\n`, { mode: 0o755 });
  const listed = () => readFileSync(lists, { encoding: 'utf8', flag: 'a+' }).length;
  const espeak = createEspeak({ program, voice: null }, speechOptions);
  const startSpeaking = (signal: AbortSignal) => espeak.speak({ text: 'Hello', signal })[Symbol.asyncIterator]().next();

  const abort = new AbortController();
  const [waiting, aborted] = [startSpeaking(never), startSpeaking(abort.signal)];
  await expect.poll(listed).toBe(1);
  abort.abort(new Error('enough'));
  await expect(aborted).rejects.toThrow('enough');
  const late = startSpeaking(never);
  writeFileSync(go, '');
  for (const call of [waiting, late]) expect((await call).done).toBe(false);
  expect(listed()).toBe(1);
});

test('a list of voices that fails after all callers aborted causes no unhandled rejection', async () => {
  const program = join(folder, 'missing');
  const unhandled: unknown[] = [];
  const record = (reason: unknown) => unhandled.push(reason);
  process.on('unhandledRejection', record);
  try {
    const espeak = createEspeak({ program, voice: null }, speechOptions);
    const startSpeaking = (signal: AbortSignal) =>
      espeak.speak({ text: 'Hello', signal })[Symbol.asyncIterator]().next();
    for (let turns = 0; turns < 12; turns += 1) {
      const abort = new AbortController();
      const aborted = startSpeaking(abort.signal).catch((error: unknown) => error);
      for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
      abort.abort(new Error('enough'));
      expect(await aborted).toBeInstanceOf(Error);
      await expect(startSpeaking(never)).rejects.toMatchObject({ kind: 'program_missing' });
    }
  } finally {
    process.off('unhandledRejection', record);
  }
  expect(unhandled).toEqual([]);
});

test('a program that does not finish is killed', async () => {
  const espeak = createEspeak(
    { program: createProgram('endless', 'exec sleep 600'), voice: null },
    { ...speechOptions, clock: fastClock(30) },
  );
  const parts = espeak.speak({ text: 'Hello', signal: never })[Symbol.asyncIterator]();
  await expect(parts.next()).rejects.toMatchObject({ kind: 'timeout' });
});

test('a program that writes too much is killed', async () => {
  const program = createProgram('flood', 'exec cat /dev/zero');
  await expect(speakAll({ program, voice: null }, { text: 'Hello' })).rejects.toMatchObject({ kind: 'program_failed' });
});

test('a program is killed when the signal aborts and when the reader stops', async () => {
  const file = join(folder, 'pid');
  const program = createProgram('long', `rm -f ${file}; echo $$ > ${file}; head -c 100 /dev/zero; exec sleep 600`);
  const abort = new AbortController();
  const reason = new Error('enough');
  const ended = speakAll({ program, voice: null }, { text: 'Hello' }, abort.signal);
  await expect.poll(() => pidIn(file)).not.toBeNull();
  const pid = pidIn(file) as number;
  abort.abort(reason);
  await expect(ended).rejects.toBe(reason);
  await expect.poll(() => isRunning(pid)).toBe(false);

  rmSync(file);
  for await (const part of createEspeak({ program, voice: null }, speechOptions).speak({
    text: 'Hello',
    signal: never,
  })) {
    expect(part.pcm.length).toBeGreaterThan(0);
    break;
  }
  await expect.poll(() => isRunning(pidIn(file) as number)).toBe(false);
});

test('a program ends when its hub is killed', async () => {
  const file = join(folder, 'owned');
  const program = createProgram('owned-by', `echo $$ > ${file}; exec sleep 600`);
  const code = `import { createEspeak } from ${JSON.stringify(import.meta.resolve('./espeak.ts'))};
import { systemClock } from ${JSON.stringify(import.meta.resolve('../../../platform/clock.ts'))};
const espeak = createEspeak({ program: ${JSON.stringify(program)}, voice: null }, { clock: systemClock, onCall: () => {} });
for await (const part of espeak.speak({ text: 'Hello', signal: new AbortController().signal }));`;
  const hub = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: 'ignore' });
  await expect.poll(() => pidIn(file)).not.toBeNull();
  const pid = pidIn(file) as number;
  expect(isRunning(pid)).toBe(true);
  hub.kill('SIGKILL');
  await expect.poll(() => isRunning(pid)).toBe(false);
});

const hasEspeak = spawnSync('espeak-ng', ['--version']).status === 0;

describe.skipIf(!hasEspeak)('espeak-ng itself (needs espeak-ng)', () => {
  const synthesize = async (request: Omit<SpeakRequest, 'signal'>, voice: string | null = null) => {
    const parts = await speakAll({ voice }, request);
    expect(new Set(parts.map(({ sampleRate }) => sampleRate))).toEqual(new Set([22_050]));
    return Buffer.concat(parts.map(({ pcm }) => pcm));
  };

  test('speaks without a key and a network', async () => {
    const sound = await synthesize({ text: 'We open at nine.' });
    expect(sound.length / 2 / 22_050).toBeGreaterThan(0.5);
    expect(
      new Int16Array(sound.buffer.slice(sound.byteOffset, sound.byteOffset + sound.length)).some(
        (sample) => Math.abs(sample) > 1_000,
      ),
    ).toBe(true);
  });

  test('reports whether a voice exists, including variants', async () => {
    const espeak = createEspeak({ voice: null }, speechOptions);
    const names = ['de', 'en-US', 'de+f2', 'nobody', '--version', ''];
    const found = await Promise.all(names.map(async (name) => espeak.hasVoice?.(name, never)));
    expect(found).toEqual([true, true, true, false, false, false]);
  });

  test('speaks the requested language, else the language of the script, else English', async () => {
    const german = await synthesize({ text: 'Guten Tag', language: 'de' });
    expect(await synthesize({ text: 'Guten Tag', language: 'de-AT' })).toEqual(german);
    expect(await synthesize({ text: 'Guten Tag', language: 'en' })).not.toEqual(german);
    expect(await synthesize({ text: 'Guten Tag' }, 'de')).toEqual(german);
    expect(await synthesize({ text: 'добрый день' })).toEqual(
      await synthesize({ text: 'добрый день', language: 'ru' }),
    );
    expect(await synthesize({ text: 'Hello', language: 'tlh' })).toEqual(
      await synthesize({ text: 'Hello', voice: 'en' }),
    );
  });
});
