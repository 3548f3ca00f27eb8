import { describe, expect, test } from 'vitest';
import { codeVariable } from './variables.ts';

describe('a variable that can make an approved program run other code', () => {
  test.each([
    'PERLLIB', 'PERL5LIB', 'PERL5OPT', 'PERL5DB', 'GIT_CONFIG_COUNT', 'GIT_CONFIG_KEY_0', 'GIT_CONFIG_VALUE_0', 'GIT_CONFIG_GLOBAL', 'GIT_SSH_COMMAND', 'GIT_EXEC_PATH', 'GIT_DIR', 'HOME', 'XDG_CONFIG_HOME', 'PYTHONUSERBASE', 'PYTHONPATH', 'PYTHONINSPECT', 'PYTHONWARNINGS',
    'RUBYOPT', 'RUBYLIB', 'GEM_HOME', 'NODE_OPTIONS', 'NODE_PATH', 'npm_config_script_shell', 'BASH_ENV', 'ENV', 'SHELLOPTS', 'IFS', 'PS4', 'PATH', 'CDPATH', 'LD_PRELOAD', 'LD_AUDIT', 'DYLD_INSERT_LIBRARIES', 'GCONV_PATH', 'GLIBC_TUNABLES', 'JAVA_TOOL_OPTIONS', '_JAVA_OPTIONS', 'CLASSPATH',
    'EDITOR', 'VISUAL', 'PAGER', 'MANPAGER', 'SYSTEMD_PAGER', 'LESSOPEN', 'LESSCLOSE', 'LESS', 'BROWSER', 'TAR_OPTIONS', 'RSYNC_RSH', 'SSH_ASKPASS', 'SUDO_ASKPASS', 'MAKEFLAGS', 'MAKEFILES', 'CC', 'GOFLAGS', 'CARGO_BUILD_RUSTC', 'RUSTC_WRAPPER', 'OPENSSL_CONF', 'GTK_MODULES', 'QT_PLUGIN_PATH',
    'PSQLRC', 'KUBECONFIG', 'DOCKER_CONFIG', 'AWS_CONFIG_FILE', 'VIMINIT', 'ZDOTDIR', 'HGRCPATH', 'TERMINFO', 'OUTRIGGER_COMMAND', 'ld_preload', 'ACME_PLUGIN_PATH', 'ACME_EDITOR', 'BASH_FUNC_x',
  ])('%s is refused', (name) => {
    expect(codeVariable({ TOKEN: 'x', [name]: 'y' })).toBe(name);
  });

  test('is one whose value a shell takes for a function', () => {
    expect(codeVariable({ GREETING: '() { :; }; id' })).toBe('GREETING');
  });

  test.each(['TOKEN', 'API_KEY', 'LANG', 'LC_ALL', 'TZ', 'DEBUG', 'CI', 'NODE_ENV', 'GIT_AUTHOR_NAME', 'PYTHONUNBUFFERED', 'DEPLOY_TARGET', 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_REGION', 'TF_VAR_region', 'PGPASSWORD', 'PGHOST', 'HTTPS_PROXY', 'DATABASE_URL', 'VERSION', 'GOAL_NAME', 'SOURCE', 'TERM', 'NO_COLOR'])('is not %s', (name) => {
    expect(codeVariable({ [name]: 'y' })).toBeNull();
  });
});
