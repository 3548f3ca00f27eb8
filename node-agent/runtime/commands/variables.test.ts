import { describe, expect, test } from 'vitest';
import { variableProblem } from './variables.ts';

const windows = 'win32';
const linux = 'linux';

describe('the variables that a workflow may set', () => {
  test.each([
    ['INPUT_TOKEN', '$(id) /etc'],
    ['INPUT_a', ''],
    ['LANG', 'de_DE.UTF-8'],
    ['LANGUAGE', 'de:en'],
    ['LC_ALL', 'C'],
    ['TZ', 'Europe/Berlin'],
    ['TZ', 'CET-1CEST,M3.5.0,M10.5.0/3'],
    ['TERM', 'xterm-256color'],
    ['NO_COLOR', '1'],
    ['CI', 'true'],
  ])('%s=%s is allowed', (name, value) => {
    expect(variableProblem({ [name]: value }, [], linux)).toBeNull();
  });

  test.each([
    'LD_PRELOAD',
    'PATH',
    'HOME',
    'NODE_OPTIONS',
    'BASH_ENV',
    'GIT_CONFIG_COUNT',
    'PYTHONPATH',
    'SSL_CERT_FILE',
    'HTTPS_PROXY',
    'TZDIR',
    'LOCPATH',
    'TERMINFO',
    'INPUTRC',
    'INPUT_',
    'MY_INPUT_TOKEN',
    'TOKEN',
    // Tools that no list of unsafe variables names.
    'ACME_STARTUP_HOOK',
    'input_token',
    'lang',
  ])('%s is refused, with the command by which the owner allows it', (name) => {
    expect(variableProblem({ INPUT_A: 'x', [name]: 'y' }, [], linux)).toBe(
      `The variable ${name} is not allowed on this machine. Pass data in a variable whose name begins with INPUT_. The owner of this machine allows it with: outrigger-companion variables allow ${name}`,
    );
  });

  test.each(['OUTRIGGER_COMMAND', 'outrigger_home'])(
    '%s is refused without a remedy, because nobody can allow it',
    (name) => {
      const problem = variableProblem({ [name]: 'x' }, [], linux);
      expect(problem).toBe(
        `The variable ${name} cannot be set: names that begin with OUTRIGGER_ belong to the companion. Pass data in a variable whose name begins with INPUT_.`,
      );
    },
  );

  test.each([
    ['LANG', '/tmp/locale'],
    ['LANGUAGE', 'de:/tmp/messages'],
    ['LC_ALL', '../../tmp/locale'],
    ['TZ', ':/tmp/zone'],
    ['TERM', '%n'],
    ['COLUMNS', 'a[$(id)]'],
    ['LANG', '() { :; }; id'],
  ])('%s=%s is refused, because the value can name a file or code', (name, value) => {
    expect(variableProblem({ [name]: value }, [], linux)).toContain(`The value of the variable ${name}`);
  });

  test('a name that the owner allowed may have any value, and other names stay refused', () => {
    expect(variableProblem({ TOKEN: '/x', LANG: '/tmp' }, ['TOKEN', 'LANG'], linux)).toBeNull();
    expect(variableProblem({ TOKEN: 'x', token: 'y' }, ['TOKEN'], linux)).toContain('The variable token');
    expect(variableProblem({ TOKEN_FILE: 'x' }, ['TOKEN'], linux)).toContain('The variable TOKEN_FILE');
  });

  test('the case of a name has no meaning on Windows', () => {
    expect(variableProblem({ Token: 'x', input_a: 'y', Lang: 'C' }, ['TOKEN'], windows)).toBeNull();
    expect(variableProblem({ TOKEN: 'x' }, ['Token'], windows)).toBeNull();
    expect(variableProblem({ lang: '/tmp' }, [], windows)).toContain('The value of the variable lang');
    expect(variableProblem({ Path: 'x' }, [], windows)).toContain('The variable Path');
  });
});
