/** As which Windows knows the app, in its notifications and its taskbar: the installer gives its shortcut the same name. */
export const appId = 'dev.outrigger.companion';
