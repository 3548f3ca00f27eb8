/** Warning before `system.ask` is turned off, for the command line and the window. */
export const withoutAskingWarning =
  'Without asking, every program that is approved at the hub runs here immediately as your user. It can read and change all of your files. Everyone who can approve at the hub can run any program on this machine.';

/** Warning before a home folder, a parent of it or a drive is shared. The path of the folder precedes the text. */
export const wideShareWarning =
  'contains all of your files, or all files of this machine. Workflows could read everything in it that is not hidden.';

/** Variables from which loaders, interpreters and common tools read code, programs to start, or trusted servers. */
const riskyVariable =
  /^(?:LD_|DYLD_|BASH|ENV$|IFS$|HOME$|GIT_|NODE_|NPM_|PYTHON|PERL|RUBY|_?JAVA_|JDK_)|(?:PATH|OPTIONS|OPTS|FLAGS|EDITOR|PAGER|COMMAND|PROXY|CA_BUNDLE|CERT_FILE)$/i;

/** Whether a warning precedes the permission for a variable. */
export const isRiskyVariable = (name: string): boolean => riskyVariable.test(name);

/** Warning before such a variable is allowed. The names precede the text. */
export const riskyVariableWarning = 'can make an approved program run other code, or trust another server.';
