

def _zzz_NONCE():
    import functools
    import inspect

    def fails(test):
        if inspect.iscoroutinefunction(test):

            @functools.wraps(test)
            async def run(*words, **named):
                await test(*words, **named)
                raise AssertionError("NONCE")

        else:

            @functools.wraps(test)
            def run(*words, **named):
                test(*words, **named)
                raise AssertionError("NONCE")

        return run

    for name, value in list(globals().items()):
        if inspect.isfunction(value) and name.startswith("test"):
            globals()[name] = fails(value)
        elif inspect.isclass(value) and value.__module__ == __name__:
            for key, method in list(vars(value).items()):
                if inspect.isfunction(method) and key.startswith("test"):
                    setattr(value, key, fails(method))


_zzz_NONCE()
