import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createOwnFile, NotAFileError, readOwnFile } from './own-file.ts';

const newFolder = () => {
  const folder = mkdtempSync(join(tmpdir(), 'outrigger-own-file-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

const kinds: [string, (path: string) => unknown][] = [
  ['a pipe', (path) => spawnSync('mkfifo', [path])],
  ['a folder', (path) => mkdirSync(path)],
  ['a device', (path) => symlinkSync('/dev/zero', path)],
];

/** Evaluates an expression in another process, because a wrong one would block this process without end. */
function evaluate(folder: string, expression: string): unknown {
  const url = (name: string) => JSON.stringify(new URL(name, import.meta.url).href);
  const script = `
    import { execFileSync } from 'node:child_process';
    import { constants, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
    import { storeArtifacts } from ${url('artifact-files.ts')};
    import { AuditLog } from ${url('audit.ts')};
    import { controlKey } from ${url('control/key.ts')};
    import { DataFolder } from ${url('data-folder.ts')};
    import { FolderClaim } from ${url('folder-claim.ts')};
    import { Journal } from ${url('journal.ts')};
    import { SentPictures } from ${url('sent-pictures.ts')};
    const data = new DataFolder(${JSON.stringify(folder)});
    /** Puts a pipe at a path that another program keeps open and full. */
    const putFullPipe = (path) => {
      execFileSync('mkfifo', [path]);
      const handle = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
      try {
        for (;;) writeSync(handle, Buffer.alloc(4096));
      } catch {}
    };
    const entry = (type) => ({ time: '2026-01-01T00:00:00.000Z', commandId: 'c', type, summary: '', approvedBy: null, outcome: 'succeeded', message: null, durationMs: 1 });
    const journal = new Journal(data.journal);
    const command = { type: 'system.run', acts: true, line: { summary: '', approvedBy: null } };
    let result;
    try {
      result = ${expression};
    } catch ({ message }) {
      result = message;
    }
    console.log(JSON.stringify(result ?? null));`;
  const { stdout, signal } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
    timeout: 30_000,
    killSignal: 'SIGKILL',
  });
  return signal === null ? JSON.parse(stdout) : signal;
}

test.skipIf(process.platform === 'win32').each(
  kinds.flatMap(([kind, create]) =>
    (
      [
        [
          'settings.json',
          'data.readSettings()',
          /settings\.json can't be read \(it is not a file\); until then every command is refused, also without a pause: remove it, and put the file back or run outrigger-companion settings accept,/,
        ],
        [
          'identity.json',
          'data.readPairing()',
          /identity\.json can't be read \(it is not a file\); remove it, and pair again/,
        ],
        [
          'companion.pid',
          'new FolderClaim(data.path).holder',
          /\(it is not a file\); make sure that no other companion runs/,
        ],
        ['journal/seen.log', 'journal.open()', /seen\.log or stored there \(it is not a file\)/],
        ['control.key', 'controlKey(data)', /control\.key is broken; remove it, and start the companion again\.$/],
      ] as const
    ).map(([name, expression, message]) => ({ kind, create, name, expression, message })),
  ),
)('$name that is $kind is reported with the remedy', ({ create, name, expression, message }) => {
  const folder = newFolder();
  mkdirSync(join(folder, 'journal'));
  create(join(folder, name));
  expect(evaluate(folder, expression)).toMatch(message);
});

test.skipIf(process.platform === 'win32').each(kinds)(
  'files in which the companion writes are replaced when they are %s',
  (kind, create) => {
    const folder = newFolder();
    const id = crypto.randomUUID();
    mkdirSync(join(folder, 'journal', id), { recursive: true });
    for (const name of ['seen.log.new', `${id}/started.json.new`, `${id}/received.json`])
      create(join(folder, 'journal', name));
    if (kind !== 'a folder') create(join(folder, 'settings.lock'));
    create(join(folder, 'settings.recorded.json'));
    const share = `data.changeSettings((settings) => void settings.sharedFolders.push('/a'))`;
    const work = `[data.recordedSettings() ?? null, journal.open(), journal.begin('${id}', command), journal.recover().unfinished.length,
      (await ${share}).sharedFolders]`;
    expect(evaluate(folder, work)).toEqual([null, null, true, 1, ['/a']]);
  },
);

test.skipIf(process.platform === 'win32').each(kinds)(
  'the claim of a folder, artifacts and pictures replace %s at their paths',
  (_kind, create) => {
    const folder = newFolder();
    const id = crypto.randomUUID();
    mkdirSync(join(folder, 'journal', id), { recursive: true });
    mkdirSync(join(folder, 'pictures'));
    for (const path of ['companion.pid', `journal/${id}/artifact-a`, `journal/${id}/artifact-b`])
      create(join(folder, path));
    // A partial picture in the form of a folder is an error, which loses the picture only.
    create(join(folder, 'pictures', `${id}.png.partial`));
    writeFileSync(join(folder, 'source'), 'b');
    const claim = `(() => { const claim = new FolderClaim(data.path); claim.write(); return claim.isOwn; })()`;
    const stored = `storeArtifacts(data.journal + '/${id}', [
      { name: 'a', contentType: 'text/plain', content: Buffer.from('a') },
      { name: 'b', contentType: 'image/png', content: { filePath: data.path + '/source' } },
    ])`;
    const kept = `(() => { const artifacts = ${stored}; const pictures = new SentPictures(data.pictures); pictures.keep('${id}', artifacts); return [artifacts.map(({ filePath }) => readFileSync(filePath, 'utf8')), pictures.has('${id}')]; })()`;
    expect(evaluate(folder, `[${claim}, ...${kept}]`)).toEqual([true, ['a', 'b'], true]);
  },
);

test.skipIf(process.platform === 'win32').each([
  ['the log', `data.audit`, 'system.run', /audit\.jsonl can't be read or written \(it is not a file\)\. Repair it, or/],
  ['the log of pings', `data.audit + '.quiet'`, 'node.ping', /audit\.jsonl\.quiet is not a file/],
])('a full pipe that another program puts in place of %s is reported', (_what, path, type, message) => {
  const log = `const log = new AuditLog(data.audit); log.append(entry('${type}')); renameSync(${path}, ${path} + '.moved');`;
  expect(evaluate(newFolder(), `(() => { ${log} putFullPipe(${path}); log.append(entry('${type}')); })()`)).toMatch(
    message,
  );
});

test.skipIf(process.platform === 'win32').each(kinds)('%s is not read, and a new file replaces it', (_kind, create) => {
  const path = join(newFolder(), 'file');
  create(path);
  expect(() => readOwnFile(path)).toThrow(NotAFileError);
  createOwnFile(path, 'text');
  expect(readOwnFile(path).toString()).toBe('text');
});
